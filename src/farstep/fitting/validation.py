"""The validation score that decides which epoch's weights are kept."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.dynamics.contract import Dynamics
from farstep.episodes import Episodes
from farstep.fitting.config import FitConfig
from farstep.fitting.training import observed
from farstep.objective import Objective, horizon_losses
from farstep.rollout import action_blocks
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.windows import Windows

_BLOCK = 512
_STARTS = 512
"""Of rollouts, at most, for the mean R²: enough to choose an epoch by."""


class Validation(NamedTuple):
    """How a model does on data that it was not trained on."""

    losses: Float[np.ndarray, " h"]
    score: float
    """What stopping goes by: lower is better."""


def validate(
    dynamics: Dynamics,
    scale: Float[Array, " d"],
    weights: Float[np.ndarray, " h"],
    data: Episodes,
    windows: Windows,
    config: FitConfig,
) -> Validation:
    """Return the loss at each horizon, and the score of `config.stop_on`."""
    objective = Objective(config.loss)
    losses = np.asarray(window_losses(dynamics, scale, windows, objective, config.settle))
    if config.stop_on == "one-step":
        score = float(losses[0])
    elif config.stop_on == "objective":
        score = float(weights @ losses)
    else:
        longest = min(config.r2_horizon, int(data.lengths.max()))
        longest = max(longest // dynamics.stride, 1) * dynamics.stride
        score = -float(np.nanmean(mean_r_squared(r_squared(dynamics, data, longest, _STARTS))))
    return Validation(losses, score)


@eqx.filter_jit
def window_losses(
    dynamics: Dynamics,
    scale: Float[Array, " d"],
    windows: Windows,
    objective: Objective,
    settle: int = 0,
) -> Float[Array, " h"]:
    """Return the loss at each horizon over all windows, as in evaluation."""
    stride = dynamics.stride
    keys = jax.random.split(jax.random.key(0), 1 + (windows.horizon - settle) // stride)

    def one(number: Int[Array, ""]) -> Float[Array, " h"]:
        states, actions = windows.gather(number[None])
        memory = dynamics.begin(keys[0])
        taken, blocks = observed(
            lambda s, a: dynamics.predict(s, a).mean,
            states[0, ::stride],
            action_blocks(actions[0], stride),
            settle,
        )
        return horizon_losses(dynamics.step, memory, taken, blocks, keys[1:], scale, objective)[0]

    return mean_over(one, windows)


@eqx.filter_jit
def residual_std(dynamics: Dynamics, windows: Windows) -> Float[Array, " d"]:
    """Return the root mean square of one prediction's error, over windows of one prediction."""

    def one(number: Int[Array, ""]) -> Float[Array, " d"]:
        states, actions = windows.gather(number[None])
        blocks = action_blocks(actions[0], dynamics.stride)
        return jnp.square(states[0, -1] - dynamics.predict(states[0, 0], blocks[0]).mean)

    return jnp.sqrt(mean_over(one, windows))


def mean_over(one: Callable[[Int[Array, ""]], Array], windows: Windows) -> Array:
    """Return the mean of a function of a window's number over all windows, block by block."""
    size = min(_BLOCK, len(windows.starts))

    def block(number: Int[Array, ""], total: Array) -> Array:
        numbers = number * size + jnp.arange(size)
        values = jax.vmap(one)(jnp.minimum(numbers, windows.count - 1))
        there = jnp.expand_dims(numbers < windows.count, range(1, values.ndim))
        return total + jnp.where(there, values, 0.0).sum(axis=0)

    shape = jax.eval_shape(one, jnp.zeros((), jnp.int32)).shape
    blocks = (windows.count + size - 1) // size
    return jax.lax.fori_loop(0, blocks, block, jnp.zeros(shape)) / windows.count
