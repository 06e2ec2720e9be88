"""One epoch of training, in compiled programs that growing data share."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from farstep.data.windows import Windows
from farstep.models.network import Network, Statistics
from farstep.models.network_dynamics import NetworkDynamics
from farstep.models.rollout import action_blocks, observe
from farstep.runtime.compilation import room_for
from farstep.training.objective import CompiledConfig, horizon_losses
from farstep.training.optimiser import along_cosine, optimiser, running_average
from farstep.training.weights import Profile, Uniform

_NOISE = 2
"""Folded into a model step's key for input noise; the sample that is fed back folds in 1."""
_OBSERVER_GAIN = 0.15
"""0.28 of the observations' noise remains; errors that grow by less than 1.17 a step die out."""
_AVERAGING = 0.99
"""Decay of the running losses, per update."""


class Trained(NamedTuple):
    """The parameters that the gradient moves."""

    network: Network
    logits: Float[Array, " h"]
    """Parameters of learned horizon weights."""


class TrainingState(NamedTuple):
    """The state that updates change."""

    trained: Trained
    ema: Network | None
    """Running average of the network; None without `ema_decay`."""
    statistics: tuple[Statistics, ...]
    optimiser: optax.OptState
    losses: Float[Array, " h"]
    """Running average of the loss at each horizon."""
    updates: Int[Array, ""]


class Part(NamedTuple):
    """The batches of one size in an epoch."""

    order: Int[Array, " room"]
    """The windows of the epoch, in their order."""
    keys: Key[Array, "room h"]
    """The keys of the epoch's updates."""
    used: Int[Array, ""]
    """Windows in earlier parts."""
    done: Int[Array, ""]
    """Updates in earlier parts."""
    updates: Int[Array, ""]
    """Updates in this part."""


class Sums(NamedTuple):
    """Sums over the updates of an epoch so far."""

    losses: Float[Array, " h"]
    gradient_norm: Float[Array, ""]
    not_finite: Bool[Array, " h"]
    """The horizons whose loss was not finite, in the first update with such a loss."""


class EpochRecord(NamedTuple):
    """Means over an epoch's updates, and the weights after it."""

    losses: Float[Array, " h"]
    weights: Float[Array, " h"]
    gradient_norm: Float[Array, ""]
    not_finite: Bool[Array, " h"]
    """As in `Sums`."""


def initial_state(dynamics: NetworkDynamics, horizon: int, config: CompiledConfig) -> TrainingState:
    """Return the state before the first update."""
    trained = Trained(dynamics.network, jnp.zeros(horizon))
    return TrainingState(
        trained=trained,
        ema=None if config.ema_decay is None else dynamics.network,
        statistics=dynamics.statistics,
        optimiser=_optimiser(config).init(trained),  # pyright: ignore[reportArgumentType]
        losses=jnp.ones(horizon),
        updates=jnp.zeros((), jnp.int32),
    )


def with_state(dynamics: NetworkDynamics, state: TrainingState) -> NetworkDynamics:
    """Return the model of a training state, with the running average of its weights if any."""
    network = state.trained.network if state.ema is None else state.ema
    return eqx.tree_at(lambda d: (d.network, d.statistics), dynamics, (network, state.statistics))


@partial(jax.jit, static_argnames="profile")
def current_weights(profile: Profile, state: TrainingState) -> Float[Array, " h"]:
    """Return the present α_1 … α_h."""
    return profile.weights(state.losses, state.trained.logits)


def train_epoch(
    state: TrainingState,
    dynamics: NetworkDynamics,
    windows: Windows,
    chosen: Int[Array, " n"],
    key: PRNGKeyArray,
    config: CompiledConfig,
    total: Float[Array, ""] | None = None,
) -> tuple[TrainingState, EpochRecord]:
    """Make one update for each batch; use every window in `chosen` exactly once.

    Args:
        state: The state before the epoch.
        dynamics: The model, whose network and statistics the state replaces.
        windows: The data, in windows of `FitConfig.window_steps` steps.
        chosen: The numbers of the windows to use; a bootstrap repeats some.
        key: For the order of windows, dropout, samples and noise.
        config: The compiled part of the configuration.
        total: Updates of the whole fit, for the cosine schedule; None for a constant one.
    """
    order_key, update_key = jax.random.split(key)
    order = jax.random.permutation(order_key, chosen)
    order = jnp.pad(order, (0, room_for(len(order)) - len(order)))
    sizes = batch_sizes(len(chosen), config.batch_size)
    updates, horizon = sum(count for _, count in sizes), len(state.losses)
    keys = jax.random.split(update_key, (room_for(updates), horizon))
    # Fixed weights are an argument of one program, which all fixed profiles share.
    fixed = config.weights.fixed(horizon)
    program = config if fixed is None else config._replace(weights=Uniform())
    sums = Sums(jnp.zeros(horizon), jnp.zeros(()), jnp.zeros(horizon, bool))
    used = done = 0
    for size, count in sizes:
        part = Part(order, keys, *(jnp.asarray(n, jnp.int32) for n in (used, done, count)))
        state, sums = train_part(state, sums, dynamics, windows, part, total, fixed, size, program)
        used, done = used + size * count, done + count
    weights = current_weights(config.weights, state)
    record = EpochRecord(sums.losses / done, weights, sums.gradient_norm / done, sums.not_finite)
    return state, record


@partial(jax.jit, static_argnames=("size", "config"))
def train_part(
    state: TrainingState,
    sums: Sums,
    dynamics: NetworkDynamics,
    windows: Windows,
    part: Part,
    total: Float[Array, ""] | None,
    fixed: Float[Array, " h"] | None,
    size: int,
    config: CompiledConfig,
) -> tuple[TrainingState, Sums]:
    """Make the updates with batches of one size.

    The number of updates and `fixed` weights, which replace the profile's, are arguments of the
    compiled program, so that other values need no other program.
    """

    def once(number: Int[Array, ""], carry: tuple[TrainingState, Sums]) -> tuple:
        state, sums = carry
        index = jax.lax.dynamic_slice_in_dim(part.order, part.used + number * size, size)
        state, (losses, norm) = _update(
            state, dynamics, windows, index, part.keys[part.done + number], config, total, fixed
        )
        bad = jnp.where(sums.not_finite.any(), sums.not_finite, ~jnp.isfinite(losses))
        return state, Sums(sums.losses + losses, sums.gradient_norm + norm, bad)

    return jax.lax.fori_loop(0, part.updates, once, (state, sums))


def batch_sizes(windows: int, batch_size: int) -> list[tuple[int, int]]:
    """Return (size, count) of the fewest batches whose sizes differ by one at most."""
    count = -(-windows // batch_size)
    small, larger = divmod(windows, count)
    return [(size, n) for size, n in ((small + 1, larger), (small, count - larger)) if n]


def _update(
    state: TrainingState,
    dynamics: NetworkDynamics,
    windows: Windows,
    index: Int[Array, " batch"],
    keys: Key[Array, " h"],
    config: CompiledConfig,
    total: Float[Array, ""] | None,
    fixed: Float[Array, " h"] | None,
) -> tuple[TrainingState, tuple[Float[Array, " h"], Float[Array, ""]]]:
    """Make one update; return the new state, the losses and the gradient's norm."""
    states, actions = windows.gather(index)
    fixed_horizon = dynamics.fixed_horizon
    # Time is the first axis: one row for each model step.
    states = jnp.swapaxes(states[:, ::fixed_horizon], 0, 1)
    actions = jnp.swapaxes(action_blocks(actions, fixed_horizon), 0, 1)
    if config.observer_steps:
        numbers = (state.trained.network, state.statistics)
        current = eqx.tree_at(lambda d: (d.network, d.statistics), dynamics, numbers)
        states, actions = observed(
            jax.vmap(lambda s, a: current.predict(s, a).mean),
            states,
            actions,
            config.observer_steps,
        )
    if config.input_noise:
        noise = jax.random.normal(jax.random.fold_in(keys[0], _NOISE), states[0].shape)
        noise = config.input_noise * dynamics.normalizer.observation_std * noise
        states = states.at[0].add(noise)

    def objective(trained: Trained) -> tuple[Array, tuple]:
        model = eqx.tree_at(lambda d: d.network, dynamics, trained.network)
        losses, statistics = horizon_losses(
            model.train_step,
            state.statistics,
            states,
            actions,
            keys,
            dynamics.normalizer.loss_scale(config.loss_scale),
            config,
        )
        losses = losses.mean(axis=1)
        running = running_losses(state.losses, losses, state.updates)
        weights = config.weights.weights(running, trained.logits) if fixed is None else fixed
        if not config.weights.trained:
            weights = jax.lax.stop_gradient(weights)
        return weights @ losses + config.weights.penalty(weights), (losses, running, statistics)

    gradient, (losses, running, statistics) = jax.grad(objective, has_aux=True)(state.trained)
    norm = optax.tree.norm(gradient)
    parameters: Any = state.trained
    changes, moments = _optimiser(config).update(gradient, state.optimiser, parameters)
    trained: Any = optax.apply_updates(parameters, along_cosine(changes, state.updates, total))
    ema = state.ema
    if config.ema_decay is not None:
        ema = running_average(ema, trained.network, config.ema_decay, state.updates)
    updated = TrainingState(trained, ema, statistics, moments, running, state.updates + 1)
    return updated, (losses, norm)


def observed(
    predict: Callable[[Array, Array], Array],
    states: Float[Array, "n *batch d"],
    actions: Float[Array, "m *batch k"],
    steps: int,
) -> tuple[Array, Array]:
    """Replace the first steps of a window by an observer's estimate of the state after them."""
    if not steps:
        return states, actions
    start = observe(predict, states[: steps + 1], actions[:steps], _OBSERVER_GAIN)
    return jnp.concatenate([start[None], states[steps + 1 :]]), actions[steps:]


def running_losses(
    running: Float[Array, " h"], losses: Float[Array, " h"], updates: Int[Array, ""]
) -> Float[Array, " h"]:
    """Update the running losses by a batch's; the first batch starts them."""
    losses = jax.lax.stop_gradient(losses)
    return jnp.where(updates == 0, losses, _AVERAGING * running + (1 - _AVERAGING) * losses)


def _optimiser(config: CompiledConfig) -> optax.GradientTransformation:
    return optimiser(config.learning_rate, config.max_grad_norm, config.weight_decay)
