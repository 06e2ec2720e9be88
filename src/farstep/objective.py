"""L_α: the weighted sum of a model's losses 1 to h compositions ahead."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from farstep.choices import Loss, Propagation
from farstep.dynamics.contract import Gaussian, Memory
from farstep.rollout import Step, compose


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


_UNROLLED = 16
"""Up to this many compositions are laid out one after the other: faster, and slower to compile."""


@dataclass(frozen=True)
class Objective:
    """What is minimised, apart from the weights."""

    loss: Loss = "mse"
    propagation: Propagation = "mean"
    truncate: int | None = None
    """Cut the gradient after this many compositions; None lets it flow through all."""
    rematerialise: bool = False
    """Compute each composition again in the backward pass rather than keep its activations."""


def horizon_losses(
    step: Step,
    memory: Memory,
    states: Float[Array, "h_plus_1 *batch d"],
    actions: Float[Array, "h *batch k"],
    keys: Key[Array, " h"],
    scale: Float[Array, " d"],
    objective: Objective,
) -> tuple[Float[Array, " h *batch"], Memory]:
    """Return L_1 … L_h of one window or a batch of them, and the memory after the last step.

    `scale` is what errors are measured in: standard deviations of the states or of the target.
    """
    count = actions.shape[0]
    predicted, memory = compose(
        jax.checkpoint(lambda *inputs: step(*inputs)) if objective.rematerialise else step,
        memory,
        states[0],
        actions,
        keys,
        objective.propagation,
        objective.truncate,
        unroll=count <= _UNROLLED and not objective.rematerialise,
    )
    return LOSSES[objective.loss](predicted, states[1:], scale), memory
