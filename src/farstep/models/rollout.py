"""The recursion p̂^j: the one place where a model is composed with itself."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PRNGKeyArray

from farstep.choices import Propagation
from farstep.models.contract import Carry, Dynamics, Gaussian

Step = Callable[[Carry, Array, Array, PRNGKeyArray], tuple[Gaussian, Carry]]
"""(carry, state, action, key) → the Gaussian over the next state, and the next carry."""


def advance(
    step: Step,
    carry: Carry,
    state: Float[Array, "*batch d"],
    action: Float[Array, "*batch k"],
    key: PRNGKeyArray,
    propagation: Propagation,
) -> tuple[Float[Array, "*batch d"], Gaussian, Carry]:
    """Make one model step; return the state to feed back, its Gaussian, and the next carry."""
    gaussian, carry = step(carry, state, action, key)
    fed_back = gaussian.mean
    if propagation == "sample":
        # The step itself uses `key`; the sample needs another.
        fed_back = gaussian.sample(jax.random.fold_in(key, 1))
    return fed_back, gaussian, carry


def compose(
    step: Step,
    carry: Carry,
    state: Float[Array, "*batch d"],
    actions: Float[Array, "n *batch k"],
    keys: Key[Array, " n"],
    propagation: Propagation = "mean",
    truncate_gradient: int | None = None,
    unroll: int | bool = 1,
) -> tuple[Gaussian, Carry]:
    """Return p̂^1, …, p̂^n along given actions.

    Args:
        step: One model step.
        carry: The first carry.
        state: The state or batch of states to start from.
        actions: One row for each model step.
        keys: One key for each model step.
        propagation: Feed back the `mean`, or a reparameterised `sample`.
        truncate_gradient: Cut the gradient after this many model steps; None never cuts it.
        unroll: Model steps in one iteration of the compiled loop.

    Returns:
        The Gaussians over s_{t+1}, …, s_{t+n}, with a leading axis of n, and the last carry.
    """
    count = actions.shape[0]
    cut = (jnp.arange(1, count + 1) % truncate_gradient == 0) if truncate_gradient else None

    def once(carry: tuple[Array, Carry], inputs: tuple) -> tuple[tuple[Array, Carry], Gaussian]:
        state, carry = carry
        action, key, cut_here = inputs
        fed_back, gaussian, carry = advance(step, carry, state, action, key, propagation)
        if cut_here is not None:
            fed_back = jnp.where(cut_here, jax.lax.stop_gradient(fed_back), fed_back)
        return (fed_back, carry), gaussian

    (_, carry), gaussians = jax.lax.scan(once, (state, carry), (actions, keys, cut), unroll=unroll)
    return gaussians, carry


def observe(
    predict: Callable[[Array, Array], Array],
    observations: Float[Array, "n *batch d"],
    actions: Float[Array, "m *batch k"],
    gain: float,
) -> Float[Array, "*batch d"]:
    """Estimate the state at the last of several noisy observations: a Luenberger observer.

    ŝ_0 = o_0 and ŝ_j = f(ŝ_{j-1}, a_{j-1}) + K_j (o_j − f(ŝ_{j-1}, a_{j-1})), with K_j = 1/(j + 1)
    until that falls to K = `gain`. About √(K/(2 − K)) of the observations' noise remains.

    Args:
        predict: (state, action) → the mean of the next state.
        observations: o_0, …, o_m.
        actions: a_0, …, a_{m-1}.
        gain: The least K. If f is unstable by a factor of ρ a step, K must exceed 1 − 1/ρ.
    """

    def once(state: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, None]:
        action, observation, share = inputs
        predicted = predict(state, action)
        return predicted + share * (observation - predicted), None

    shares = jnp.maximum(1 / jnp.arange(2, len(observations) + 1), gain)
    return jax.lax.scan(once, observations[0], (actions, observations[1:], shares))[0]


def rollout(
    dynamics: Dynamics,
    state: Float[Array, " d"],
    actions: Float[Array, "steps k"],
    key: PRNGKeyArray,
    propagation: Propagation = "mean",
) -> Gaussian:
    """Roll a model out from one state, outside training; `jax.vmap` rolls out many.

    A model with a fixed horizon h takes h actions at a time and predicts every h-th state only:
    `steps` must be a multiple of h.
    """
    blocks = action_blocks(actions, dynamics.fixed_horizon)
    keys = jax.random.split(key, 1 + blocks.shape[0])
    carry = dynamics.initial_carry(keys[0])
    return compose(dynamics.step, carry, state, blocks, keys[1:], propagation)[0]


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


def action_blocks(actions: Float[Array, "*batch_steps k"], fixed_horizon: int) -> Array:
    """Join the actions of each model step in one row: (…, steps / h, h k)."""
    *batch, steps, k = actions.shape
    return actions.reshape(*batch, steps // fixed_horizon, fixed_horizon * k)
