"""The recursion p̂^j: the one place where a model is composed with itself."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray

from farstep.choices import Propagation
from farstep.dynamics.contract import Dynamics, Gaussian, Memory

Step = Callable[[Memory, Array, Array, PRNGKeyArray], tuple[Gaussian, Memory]]
"""(memory, state, action, key) → the Gaussian over the next state, and the memory after it."""


def advance(
    step: Step,
    memory: Memory,
    state: Float[Array, "*batch d"],
    action: Float[Array, "*batch k"],
    key: PRNGKeyArray,
    propagation: Propagation,
) -> tuple[Float[Array, "*batch d"], Gaussian, Memory]:
    """Return the state that one composition hands to the next, its Gaussian, and the memory."""
    gaussian, memory = step(memory, state, action, key)
    fed = gaussian.mean
    if propagation == "sample":
        # The step itself draws from `key`; the sample from another, made of it.
        fed = gaussian.sample(jax.random.fold_in(key, 1))
    return fed, gaussian, memory


def compose(
    step: Step,
    memory: Memory,
    state: Float[Array, "*batch d"],
    actions: Float[Array, "n *batch k"],
    keys: Key[Array, " n"],
    propagation: Propagation = "mean",
    truncate: int | None = None,
    unroll: int | bool = 1,
) -> tuple[Gaussian, Memory]:
    """Return p̂^1, …, p̂^n along given actions.

    Each composition's Gaussian is over s_{t+j}; what is fed into the next one is its mean or a
    sample of it.

    Args:
        step: One composition.
        memory: What the first composition is given.
        state: Where the rollout starts, one or a batch.
        actions: One row for each composition.
        keys: One key for each composition.
        propagation: What is fed back: the `mean`, or a reparameterised `sample`.
        truncate: Cut the state that is fed back from the gradient's graph after every so many
            compositions; None never cuts.
        unroll: Compositions in one turn of the compiled loop.

    Returns:
        The Gaussians, with a leading axis of n, and the memory after the last.
    """
    count = actions.shape[0]
    cut = (jnp.arange(1, count + 1) % truncate == 0) if truncate else None

    def once(carry: tuple[Array, Memory], inputs: tuple) -> tuple[tuple[Array, Memory], Gaussian]:
        state, memory = carry
        action, key, cut_here = inputs
        fed, gaussian, memory = advance(step, memory, state, action, key, propagation)
        if cut_here is not None:
            fed = jnp.where(cut_here, jax.lax.stop_gradient(fed), fed)
        return (fed, memory), gaussian

    (_, memory), gaussians = jax.lax.scan(
        once, (state, memory), (actions, keys, cut), unroll=unroll
    )
    return gaussians, memory


def observe(
    predict: Callable[[Array, Array], Array],
    readings: Float[Array, "n *batch d"],
    actions: Float[Array, "m *batch k"],
    gain: float,
) -> Float[Array, "*batch d"]:
    """Return where the last of several noisy readings was taken: a Luenberger observer.

    ŝ_0 = o_0 and ŝ_j = f(ŝ_{j-1}, a_{j-1}) + K_j (o_j − f(ŝ_{j-1}, a_{j-1})), with K_j = 1/(j + 1)
    until that falls to `gain`. Of the readings' noise about √(K/(2 − K)) is left.

    Args:
        predict: (state, action) → the mean of the next state.
        readings: o_0, …, o_m.
        actions: a_0, …, a_{m-1}.
        gain: The least K. Where f is unstable by a factor of ρ a step it must exceed 1 − 1/ρ.
    """

    def once(state: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, None]:
        action, reading, share = inputs
        predicted = predict(state, action)
        return predicted + share * (reading - predicted), None

    shares = jnp.maximum(1 / jnp.arange(2, len(readings) + 1), gain)
    return jax.lax.scan(once, readings[0], (actions, readings[1:], shares))[0]


def rollout(
    dynamics: Dynamics,
    state: Float[Array, " d"],
    actions: Float[Array, "steps k"],
    key: PRNGKeyArray,
    propagation: Propagation = "mean",
) -> Gaussian:
    """Roll a model out from one state, as in evaluation; `jax.vmap` rolls out many.

    A model that spans h steps at once takes h actions at a time, and predicts only every h-th
    state: `steps` must be a multiple of its stride.
    """
    blocks = action_blocks(actions, dynamics.stride)
    keys = jax.random.split(key, 1 + blocks.shape[0])
    memory = dynamics.begin(keys[0])
    return compose(dynamics.step, memory, state, blocks, keys[1:], propagation)[0]


@eqx.filter_jit
def rollouts(
    dynamics: Dynamics,
    states: Float[Array, "n d"],
    actions: Float[Array, "n steps k"],
    keys: Key[Array, " n"],
    propagation: Propagation = "mean",
) -> Gaussian:
    """Roll a model out from many states, in one compiled program."""
    return jax.vmap(lambda s, a, key: rollout(dynamics, s, a, key, propagation))(
        states, actions, keys
    )


def action_blocks(actions: Float[Array, "*batch_steps k"], stride: int) -> Array:
    """Return the actions of each composition as one row: (…, steps / h, h k)."""
    *batch, steps, k = actions.shape
    return actions.reshape(*batch, steps // stride, stride * k)
