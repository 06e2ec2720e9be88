"""The validation score, which selects the epoch whose weights are kept."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.choices import Loss
from farstep.data.episodes import Episodes
from farstep.data.windows import Windows
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.models.contract import Dynamics
from farstep.models.rollout import action_blocks
from farstep.training.config import FitConfig
from farstep.training.epoch import observed
from farstep.training.objective import CompiledConfig, horizon_losses

_BLOCK = 512
_MOST_STARTS = 512
"""Rollouts for the mean R²: enough to compare epochs."""


class Validation(NamedTuple):
    """The losses of a model on validation data, and its score."""

    losses: Float[np.ndarray, " h"]
    score: float
    """Lower is better."""


def validate(
    dynamics: Dynamics,
    scale: Float[Array, " d"],
    weights: Float[np.ndarray, " h"],
    data: Episodes,
    windows: Windows,
    config: FitConfig,
) -> Validation:
    """Return the loss at each horizon, and the score by `config.validation_metric`."""
    losses = np.asarray(window_losses(dynamics, scale, windows, config.loss, config.observer_steps))
    if config.validation_metric == "one-step":
        score = float(losses[0])
    elif config.validation_metric == "objective":
        score = float(weights @ losses)
    else:
        longest = min(config.r2_horizon, int(data.lengths.max()))
        longest = max(longest // dynamics.fixed_horizon, 1) * dynamics.fixed_horizon
        score = -float(np.nanmean(mean_r_squared(r_squared(dynamics, data, longest, _MOST_STARTS))))
    return Validation(losses, score)


@eqx.filter_jit
def window_losses(
    dynamics: Dynamics,
    scale: Float[Array, " d"],
    windows: Windows,
    loss: Loss,
    observer_steps: int = 0,
) -> Float[Array, " h"]:
    """Return the mean loss at each horizon over all windows, outside training."""
    fixed_horizon, config = dynamics.fixed_horizon, CompiledConfig(loss=loss)
    keys = jax.random.split(
        jax.random.key(0), 1 + (windows.horizon - observer_steps) // fixed_horizon
    )

    def one(number: Int[Array, ""]) -> Float[Array, " h"]:
        states, actions = windows.gather(number[None])
        carry = dynamics.initial_carry(keys[0])
        taken, blocks = observed(
            lambda s, a: dynamics.predict(s, a).mean,
            states[0, ::fixed_horizon],
            action_blocks(actions[0], fixed_horizon),
            observer_steps,
        )
        return horizon_losses(dynamics.step, carry, taken, blocks, keys[1:], scale, config)[0]

    return mean_over(one, windows)


@eqx.filter_jit
def residual_std(dynamics: Dynamics, windows: Windows) -> Float[Array, " d"]:
    """Return the root mean squared error of single predictions, over windows of one each."""

    def one(number: Int[Array, ""]) -> Float[Array, " d"]:
        states, actions = windows.gather(number[None])
        blocks = action_blocks(actions[0], dynamics.fixed_horizon)
        return jnp.square(states[0, -1] - dynamics.predict(states[0, 0], blocks[0]).mean)

    return jnp.sqrt(mean_over(one, windows))


def mean_over(one: Callable[[Int[Array, ""]], Array], windows: Windows) -> Array:
    """Return the mean over all windows of a function of a window's number, block by block."""
    size = min(_BLOCK, len(windows.starts))

    def block(number: Int[Array, ""], total: Array) -> Array:
        numbers = number * size + jnp.arange(size)
        values = jax.vmap(one)(jnp.minimum(numbers, windows.count - 1))
        exists = jnp.expand_dims(numbers < windows.count, range(1, values.ndim))
        return total + jnp.where(exists, values, 0.0).sum(axis=0)

    shape = jax.eval_shape(one, jnp.zeros((), jnp.int32)).shape
    blocks = (windows.count + size - 1) // size
    return jax.lax.fori_loop(0, blocks, block, jnp.zeros(shape)) / windows.count
