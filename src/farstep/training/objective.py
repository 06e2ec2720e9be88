"""L_α: the weighted sum of a model's losses 1 to h model steps ahead."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from farstep.choices import Loss, LossScale, Propagation
from farstep.models.contract import Carry, Gaussian
from farstep.models.rollout import Step, compose
from farstep.training.config import FitConfig
from farstep.training.weights import Profile, Uniform, profile

_UNROLLED = 16
"""Up to this many model steps are unrolled: faster to run, and slower to compile."""


class CompiledConfig(NamedTuple):
    """The fields of `FitConfig` that compiled programs depend on; equal ones share a program."""

    weights: Profile = Uniform()
    loss: Loss = "mse"
    loss_scale: LossScale = "observation"
    propagation: Propagation = "mean"
    truncate_gradient: int | None = None
    observer_steps: int = 0
    batch_size: int = 256
    learning_rate: float = 1e-3
    max_grad_norm: float | None = None
    weight_decay: float = 0.0
    ema_decay: float | None = None
    input_noise: float = 0.0
    rematerialise: bool = False

    @classmethod
    def of(cls, config: FitConfig, weights: Profile | None = None) -> "CompiledConfig":
        """Take these fields from a configuration; `weights` replaces its text form."""
        given = {name: getattr(config, name) for name in cls._fields if name != "weights"}
        return cls(weights=weights or profile(config.weights), **given)


def squared_error(
    predicted: Gaussian, target: Float[Array, "*batch d"], scale: Float[Array, " d"]
) -> Float[Array, "*batch"]:
    """Return the mean over dimensions of ((s − μ)/scale)²."""
    return jnp.square((target - predicted.mean) / scale).mean(axis=-1)


def negative_log_likelihood(
    predicted: Gaussian, target: Float[Array, "*batch d"], scale: Float[Array, " d"]
) -> Float[Array, "*batch"]:
    """Return the mean over dimensions of ((s − μ)/σ)²/2 + log(σ/scale), without its constant."""
    error = (target - predicted.mean) * jnp.exp(-predicted.log_std)
    return (0.5 * jnp.square(error) + predicted.log_std - jnp.log(scale)).mean(axis=-1)


LOSSES = {"mse": squared_error, "nll": negative_log_likelihood}


def horizon_losses(
    step: Step,
    carry: Carry,
    states: Float[Array, "h_plus_1 *batch d"],
    actions: Float[Array, "h *batch k"],
    keys: Key[Array, " h"],
    scale: Float[Array, " d"],
    config: CompiledConfig,
) -> tuple[Float[Array, " h *batch"], Carry]:
    """Return L_1 … L_h of one window or a batch of them, and the last carry.

    Args:
        step: One model step.
        carry: The first carry.
        states: The state that the rollout starts from, and the targets.
        actions: One row for each model step.
        keys: One key for each model step.
        scale: The standard deviations that errors are divided by.
        config: The loss, the propagation and how the gradient flows.
    """
    count = actions.shape[0]
    predicted, carry = compose(
        jax.checkpoint(lambda *inputs: step(*inputs)) if config.rematerialise else step,
        carry,
        states[0],
        actions,
        keys,
        config.propagation,
        config.truncate_gradient,
        unroll=count <= _UNROLLED and not config.rematerialise,
    )
    return LOSSES[config.loss](predicted, states[1:], scale), carry
