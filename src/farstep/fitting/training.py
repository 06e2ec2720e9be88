"""One epoch of training, as programs that are not compiled anew when the data of a loop grow."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from farstep import tensors
from farstep.choices import Units
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.network import Network, Statistics
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.errors import FarstepError
from farstep.fitting.optimiser import along_cosine, running_average
from farstep.objective import Objective, horizon_losses
from farstep.programs import room_for
from farstep.rollout import action_blocks, observe
from farstep.weights import Profile, Uniform
from farstep.windows import Windows

_NOISE = 2
"""Folded into a composition's key; 1 is for the sample that is fed back."""
_GAIN = 0.15
"""Of the observer: 0.28 of the readings' noise is left, and what grows by less than 1.17 a step is
followed."""
_AVERAGING = 0.99
"""Of the running losses, per update."""


class Trained(NamedTuple):
    """What the gradient moves."""

    network: Network
    logits: Float[Array, " h"]
    """Of learned horizon weights."""


class TrainingState(NamedTuple):
    """What one update hands to the next."""

    trained: Trained
    averaged: Network | None
    """Running average of the network; None where none is asked for."""
    statistics: tuple[Statistics, ...]
    optimiser: optax.OptState
    losses: Float[Array, " h"]
    """Running average of the loss at each horizon."""
    updates: Int[Array, ""]


class Part(NamedTuple):
    """The batches of one size in an epoch."""

    order: Int[Array, " room"]
    """Of all windows."""
    keys: Key[Array, "room h"]
    """Of all updates."""
    used: Int[Array, ""]
    """Windows before these."""
    done: Int[Array, ""]
    """Updates before these."""
    updates: Int[Array, ""]


class Sums(NamedTuple):
    """Over the updates of an epoch so far."""

    losses: Float[Array, " h"]
    gradient_norm: Float[Array, ""]
    not_finite: Bool[Array, " h"]
    """Which horizons' losses were not finite in the first update where one was not."""


class EpochRecord(NamedTuple):
    """Means over an epoch's updates, and the weights after it."""

    losses: Float[Array, " h"]
    weights: Float[Array, " h"]
    gradient_norm: Float[Array, ""]
    not_finite: Bool[Array, " h"]
    """As in the sums."""


class Recipe(NamedTuple):
    """What stays the same over a fit; everything in it is static to the compiler."""

    objective: Objective
    profile: Profile
    optimiser: optax.GradientTransformation
    batch: int
    units: Units = "state"
    settle: int = 0
    """Steps in which an observer finds where a window starts."""
    average: float | None = None
    """Decay of the running average of the weights, per update."""
    input_noise: float = 0.0
    """Added to each window's first state, in units of the states' standard deviation."""


def initial_state(dynamics: NetworkDynamics, horizon: int, recipe: Recipe) -> TrainingState:
    """Return where training starts."""
    trained = Trained(dynamics.network, jnp.zeros(horizon))
    return TrainingState(
        trained=trained,
        averaged=None if recipe.average is None else dynamics.network,
        statistics=dynamics.statistics,
        optimiser=recipe.optimiser.init(trained),  # pyright: ignore[reportArgumentType]
        losses=jnp.ones(horizon),
        updates=jnp.zeros((), jnp.int32),
    )


def begun_from(new: NetworkDynamics, start: Dynamics, member: int) -> NetworkDynamics:
    """Return a new model with the numbers of another, or of its member."""
    if isinstance(start, Ensemble):
        chosen = member % start.size
        start = jax.tree.map(lambda leaf: leaf[chosen], start.members)
    if (
        not isinstance(start, NetworkDynamics)
        or (start.form, start.stride) != (new.form, new.stride)
        or tensors.shapes(start.network) != tensors.shapes(new.network)
    ):
        raise FarstepError("a fit starts from a model of the same network, states and target only.")
    return eqx.tree_at(lambda d: (d.network, d.statistics), new, (start.network, start.statistics))


def with_state(dynamics: NetworkDynamics, state: TrainingState) -> NetworkDynamics:
    """Return the model with the numbers of a training state: the averaged ones, if there are."""
    network = state.trained.network if state.averaged is None else state.averaged
    return eqx.tree_at(lambda d: (d.network, d.statistics), dynamics, (network, state.statistics))


@partial(jax.jit, static_argnames="profile")
def current_weights(profile: Profile, state: TrainingState) -> Float[Array, " h"]:
    """Return α_1 … α_h as they are now."""
    return profile.weights(state.losses, state.trained.logits)


def train_epoch(
    state: TrainingState,
    dynamics: NetworkDynamics,
    windows: Windows,
    chosen: Int[Array, " n"],
    key: PRNGKeyArray,
    recipe: Recipe,
    total: Float[Array, ""] | None = None,
) -> tuple[TrainingState, EpochRecord]:
    """Make one update for each batch; every window in `chosen` is used exactly once.

    Args:
        state: Where training stands.
        dynamics: The model's fixed parts.
        windows: The data, of horizon h times the model's stride.
        chosen: The windows to use; a bootstrap names some twice.
        key: Of this epoch's order, dropout, samples and noise.
        recipe: What stays the same.
        total: Updates of the whole fit, over which their size falls; without it, it does not.
    """
    order_key, update_key = jax.random.split(key)
    order = jax.random.permutation(order_key, chosen)
    order = jnp.pad(order, (0, room_for(len(order)) - len(order)))
    sizes = batch_sizes(len(chosen), recipe.batch)
    updates, horizon = sum(count for _, count in sizes), len(state.losses)
    keys = jax.random.split(update_key, (room_for(updates), horizon))
    # Weights that never change are numbers that go into a program which all of them share.
    fixed = recipe.profile.fixed(horizon)
    program = recipe if fixed is None else recipe._replace(profile=Uniform())
    sums = Sums(jnp.zeros(horizon), jnp.zeros(()), jnp.zeros(horizon, bool))
    used = done = 0
    for size, count in sizes:
        part = Part(order, keys, *(jnp.asarray(n, jnp.int32) for n in (used, done, count)))
        state, sums = train_part(state, sums, dynamics, windows, part, total, fixed, size, program)
        used, done = used + size * count, done + count
    weights = current_weights(recipe.profile, state)
    record = EpochRecord(sums.losses / done, weights, sums.gradient_norm / done, sums.not_finite)
    return state, record


@partial(jax.jit, static_argnames=("size", "recipe"))
def train_part(
    state: TrainingState,
    sums: Sums,
    dynamics: NetworkDynamics,
    windows: Windows,
    part: Part,
    total: Float[Array, ""] | None,
    fixed: Float[Array, " h"] | None,
    size: int,
    recipe: Recipe,
) -> tuple[TrainingState, Sums]:
    """Make the updates of one size; how many is no part of the compiled program.

    Nor are `fixed` weights, which take the place of the profile's.
    """

    def once(number: Int[Array, ""], carry: tuple[TrainingState, Sums]) -> tuple:
        state, sums = carry
        index = jax.lax.dynamic_slice_in_dim(part.order, part.used + number * size, size)
        state, (losses, norm) = _update(
            state, dynamics, windows, index, part.keys[part.done + number], recipe, total, fixed
        )
        bad = jnp.where(sums.not_finite.any(), sums.not_finite, ~jnp.isfinite(losses))
        return state, Sums(sums.losses + losses, sums.gradient_norm + norm, bad)

    return jax.lax.fori_loop(0, part.updates, once, (state, sums))


def batch_sizes(windows: int, batch: int) -> list[tuple[int, int]]:
    """Return (size, how many) of the batches: as few as possible, of sizes that differ by one."""
    count = -(-windows // batch)
    small, larger = divmod(windows, count)
    return [(size, n) for size, n in ((small + 1, larger), (small, count - larger)) if n]


def _update(
    state: TrainingState,
    dynamics: NetworkDynamics,
    windows: Windows,
    index: Int[Array, " batch"],
    keys: Key[Array, " h"],
    recipe: Recipe,
    total: Float[Array, ""] | None,
    fixed: Float[Array, " h"] | None,
) -> tuple[TrainingState, tuple[Float[Array, " h"], Float[Array, ""]]]:
    """Move the weights once; return the losses and the gradient's norm beside the new state."""
    states, actions = windows.gather(index)
    stride = dynamics.stride
    # Time goes first: one row for each composition.
    states = jnp.swapaxes(states[:, ::stride], 0, 1)
    actions = jnp.swapaxes(action_blocks(actions, stride), 0, 1)
    if recipe.settle:
        numbers = (state.trained.network, state.statistics)
        current = eqx.tree_at(lambda d: (d.network, d.statistics), dynamics, numbers)
        states, actions = observed(
            jax.vmap(lambda s, a: current.predict(s, a).mean), states, actions, recipe.settle
        )
    if recipe.input_noise:
        noise = jax.random.normal(jax.random.fold_in(keys[0], _NOISE), states[0].shape)
        noise = recipe.input_noise * dynamics.scaling.state_std * noise
        states = states.at[0].add(noise)

    def objective(trained: Trained) -> tuple[Array, tuple]:
        model = eqx.tree_at(lambda d: d.network, dynamics, trained.network)
        losses, statistics = horizon_losses(
            model.train_step,
            state.statistics,
            states,
            actions,
            keys,
            dynamics.scaling.unit(recipe.units),
            recipe.objective,
        )
        losses = losses.mean(axis=1)
        running = running_losses(state.losses, losses, state.updates)
        weights = recipe.profile.weights(running, trained.logits) if fixed is None else fixed
        if not recipe.profile.trained:
            weights = jax.lax.stop_gradient(weights)
        return weights @ losses + recipe.profile.penalty(weights), (losses, running, statistics)

    gradient, (losses, running, statistics) = jax.grad(objective, has_aux=True)(state.trained)
    norm = optax.tree.norm(gradient)
    parameters: Any = state.trained
    changes, optimiser = recipe.optimiser.update(gradient, state.optimiser, parameters)
    trained: Any = optax.apply_updates(parameters, along_cosine(changes, state.updates, total))
    averaged = state.averaged
    if recipe.average is not None:
        averaged = running_average(averaged, trained.network, recipe.average, state.updates)
    updated = TrainingState(trained, averaged, statistics, optimiser, running, state.updates + 1)
    return updated, (losses, norm)


def observed(
    predict: Callable[[Array, Array], Array],
    states: Float[Array, "n *batch d"],
    actions: Float[Array, "m *batch k"],
    steps: int,
) -> tuple[Array, Array]:
    """Return a window that starts where an observer is after some steps of it."""
    if not steps:
        return states, actions
    start = observe(predict, states[: steps + 1], actions[:steps], _GAIN)
    return jnp.concatenate([start[None], states[steps + 1 :]]), actions[steps:]


def running_losses(
    running: Float[Array, " h"], losses: Float[Array, " h"], updates: Int[Array, ""]
) -> Float[Array, " h"]:
    """Return the running average after a batch; the first batch starts it."""
    losses = jax.lax.stop_gradient(losses)
    return jnp.where(updates == 0, losses, _AVERAGING * running + (1 - _AVERAGING) * losses)
