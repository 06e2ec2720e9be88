"""Squared errors against horizon, summed over all sub-trajectories: R², bias² and variance."""

from collections.abc import Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.rollout import rollouts
from farstep.scoring.blocks import Block, SubTrajectories
from farstep.systems.system import Oracle

Predictor: TypeAlias = Dynamics | Oracle
"""What is scored: a model that is composed with itself, or a simulator that is rolled out."""


class Errors(eqx.Module):
    """Sums over sub-trajectories. The first axis is of targets: as observed, without noise."""

    count: Int[np.ndarray, " steps"]
    variation: Float[np.ndarray, "kinds steps d"]
    """Σ (target − mean target)²; NaN for a dimension that does not vary."""
    errors: Float[np.ndarray, "kinds models steps d"]
    """Σ (target − prediction)², of each model."""
    bias: Float[np.ndarray, "kinds steps d"]
    """Σ (target − expected prediction)², estimated without bias from the models or an ensemble's
    members, so that it can fall below zero; noise of the targets is part of it."""
    spread: Float[np.ndarray, "steps d"]
    """Σ variance of the predictions of models or members, without bias. Both add up to the mean
    of their errors."""

    @property
    def r_squared(self) -> Float[np.ndarray, "kinds models steps d"]:
        """1 − SSE/SST: NaN where a dimension does not vary, −∞ where an error overflows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.errors / self.variation[:, None]
            return np.where(np.isnan(self.variation[:, None]), np.nan, 1 - share)

    @property
    def rmse(self) -> Float[np.ndarray, "models steps d"]:
        """Root of the mean squared error against what was observed, in the states' own units."""
        return np.sqrt(self.errors[0] / self.count[:, None])


def stride_of(predictor: Predictor) -> int:
    """Return how many steps one prediction spans."""
    return predictor.stride if isinstance(predictor, Dynamics) else 1


def errors(
    predictors: Sequence[Predictor],
    episodes: Episodes,
    horizon: int,
    most: int | None = None,
) -> Errors:
    """Return the errors of models of one stride, on all sub-trajectories and the true actions.

    Args:
        predictors: Models of one configuration; their spread is measured. Of a single ensemble
            the members are compared, each rolled out on its own.
        episodes: What they are measured on.
        horizon: Steps ahead; a multiple of the models' stride.
        most: Use only this many starts, evenly spaced, if there are more.
    """
    stride = stride_of(predictors[0])
    if horizon % stride:
        raise FarstepError(
            f"a model that spans {stride} steps cannot be scored at horizon {horizon}; "
            "choose a multiple."
        )
    members = _members(predictors)
    parts = SubTrajectories(episodes, horizon, stride, most)
    sums = None
    for number, block in enumerate(parts):
        predicted = [_predict(predictor, block, number) for predictor in predictors]
        compared = [_predict(member, block, number) for member in members] or predicted
        block_sums = _sums(jnp.stack(predicted), jnp.stack(compared), block, stride)
        new = [np.asarray(part, np.float64) for part in block_sums]
        sums = new if sums is None else [a + b for a, b in zip(sums, new, strict=True)]
    assert sums is not None
    count, squared, bias, spread = sums
    several = max(len(members), len(predictors))
    with np.errstate(invalid="ignore"):
        spread = spread * (several / max(several - 1, 1))
        bias = bias - spread / several
    return Errors(
        count=count.astype(int),
        variation=parts.variation(stride),
        errors=np.where(np.isfinite(squared), squared, np.inf),
        bias=np.where(np.isfinite(bias), bias, np.inf),
        spread=np.where(np.isfinite(spread), spread, np.inf),
    )


def r_squared(
    dynamics: Dynamics, episodes: Episodes, horizon: int, most: int | None = None
) -> Float[np.ndarray, "compositions d"]:
    """Return R² of each dimension at 1, 2, … compositions, up to `horizon` steps ahead.

    R²(j) = 1 − SSE(j)/SST(j) over all sub-trajectories of that many steps, with the true actions;
    SST is about the mean of that horizon's own targets. A dimension that does not vary has no R²:
    NaN. Predictions that are not finite give minus infinity.
    """
    return errors([dynamics], episodes, horizon, most).r_squared[0, 0]


def mean_r_squared(values: Float[np.ndarray, "*any d"]) -> Float[np.ndarray, "*any"]:
    """Return the mean over the dimensions that vary."""
    varies = ~np.isnan(values)
    total = np.where(varies, values, 0.0).sum(axis=-1)
    return np.where(varies.any(axis=-1), total / np.maximum(varies.sum(axis=-1), 1), np.nan)


def _members(predictors: Sequence[Predictor]) -> list[Dynamics]:
    """Return an ensemble's members; none for anything else."""
    only = predictors[0]
    if len(predictors) > 1 or not isinstance(only, Ensemble):
        return []
    return [jax.tree.map(lambda leaf, i=i: leaf[i], only.members) for i in range(only.size)]


def _predict(predictor: Predictor, block: Block, number: int) -> Float[Array, "n compositions d"]:
    if not isinstance(predictor, Dynamics):
        return jnp.asarray(predictor(np.asarray(block.states), np.asarray(block.actions)))
    keys = jax.random.split(jax.random.fold_in(jax.random.key(0), number), len(block.states))
    return rollouts(predictor, block.states, block.actions, keys).mean


@eqx.filter_jit
def _sums(
    predicted: Float[Array, "models n compositions d"],
    compared: Float[Array, "members n compositions d"],
    block: Block,
    stride: int,
) -> tuple[Array, ...]:
    """Return a block's count, and Σ error², of the mean too, and Σ variance about the mean."""
    targets = block.targets[:, :, stride - 1 :: stride]
    inside = block.inside[:, stride - 1 :: stride, None]

    def over(values: Array) -> Array:
        return jnp.where(inside, values, 0.0).sum(axis=-3)

    return (
        inside.sum(axis=(0, 2)),
        over(jnp.square(targets[:, None] - predicted)),
        over(jnp.square(targets - compared.mean(axis=0))),
        over(compared.var(axis=0)),
    )
