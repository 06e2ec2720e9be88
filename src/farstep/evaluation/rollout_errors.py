"""Squared rollout errors against the horizon: R², bias² and variance."""

from collections.abc import Sequence
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.evaluation.subtrajectories import Block, SubTrajectories
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.rollout import rollouts
from farstep.systems.system import Oracle

Predictor: TypeAlias = Dynamics | Oracle
"""A learned model, which is composed with itself, or a simulator, which is rolled out."""


class RolloutErrors(eqx.Module):
    """Sums over sub-trajectories.

    The axis `kinds` has the targets as measured and, where known, the targets without noise.
    """

    count: Int[np.ndarray, " steps"]
    sst: Float[np.ndarray, "kinds steps d"]
    """Σ (target − mean target)²; NaN for a dimension that does not vary."""
    sse: Float[np.ndarray, "kinds models steps d"]
    """Σ (target − prediction)² of each model."""
    bias: Float[np.ndarray, "kinds steps d"]
    """Σ (target − expected prediction)²: an unbiased estimate, from several seeds or an ensemble's
    members, which can fall below zero. It includes the noise of the targets."""
    variance: Float[np.ndarray, "steps d"]
    """Σ variance of the predictions of seeds or members, unbiased. `bias` plus `variance` is the
    mean of their squared errors."""

    @property
    def r_squared(self) -> Float[np.ndarray, "kinds models steps d"]:
        """1 − SSE/SST: NaN where a dimension does not vary, −∞ where an error overflows."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.sse / self.sst[:, None]
            return np.where(np.isnan(self.sst[:, None]), np.nan, 1 - share)

    @property
    def rmse(self) -> Float[np.ndarray, "models steps d"]:
        """Root mean squared error against the measured targets, in the observations' units."""
        return np.sqrt(self.sse[0] / self.count[:, None])


def fixed_horizon_of(predictor: Predictor) -> int:
    """Return how many steps one prediction spans."""
    return predictor.fixed_horizon if isinstance(predictor, Dynamics) else 1


def rollout_errors(
    predictors: Sequence[Predictor],
    episodes: Episodes,
    horizon: int,
    most: int | None = None,
) -> RolloutErrors:
    """Sum squared errors over all sub-trajectories, rolled out with the true actions.

    Args:
        predictors: Models of one configuration and one `fixed_horizon`; `variance` is between
            them. For a single ensemble it is between its members, each rolled out alone.
        episodes: The data to evaluate on.
        horizon: Steps ahead; a multiple of the models' `fixed_horizon`.
        most: Use at most this many starts, evenly spaced.
    """
    fixed_horizon = fixed_horizon_of(predictors[0])
    if horizon % fixed_horizon:
        raise FarstepError(
            f"horizon must be a multiple of the model's fixed_horizon {fixed_horizon}, "
            f"not {horizon}."
        )
    members = _members(predictors)
    parts = SubTrajectories(episodes, horizon, fixed_horizon, most)
    sums = None
    for number, block in enumerate(parts):
        predicted = [_predict(predictor, block, number) for predictor in predictors]
        compared = [_predict(member, block, number) for member in members] or predicted
        block_sums = _sums(jnp.stack(predicted), jnp.stack(compared), block, fixed_horizon)
        new = [np.asarray(part, np.float64) for part in block_sums]
        sums = new if sums is None else [a + b for a, b in zip(sums, new, strict=True)]
    assert sums is not None
    count, sse, bias, variance = sums
    several = max(len(members), len(predictors))
    with np.errstate(invalid="ignore"):
        variance = variance * (several / max(several - 1, 1))
        bias = bias - variance / several
    return RolloutErrors(
        count=count.astype(int),
        sst=parts.sst(fixed_horizon),
        sse=np.where(np.isfinite(sse), sse, np.inf),
        bias=np.where(np.isfinite(bias), bias, np.inf),
        variance=np.where(np.isfinite(variance), variance, np.inf),
    )


def r_squared(
    dynamics: Dynamics, episodes: Episodes, horizon: int, most: int | None = None
) -> Float[np.ndarray, "model_steps d"]:
    """Return R² of each dimension after 1, 2, … model steps, up to `horizon` steps ahead.

    R²(j) = 1 − SSE(j)/SST(j) over all sub-trajectories of j steps, with the true actions; SST(j)
    is about the mean of the targets of that horizon. A dimension that does not vary has no R²:
    NaN. Predictions that are not finite give −∞.
    """
    return rollout_errors([dynamics], episodes, horizon, most).r_squared[0, 0]


def mean_r_squared(values: Float[np.ndarray, "*any d"]) -> Float[np.ndarray, "*any"]:
    """Return the mean over the dimensions that vary; NaN if none does."""
    varies = ~np.isnan(values)
    total = np.where(varies, values, 0.0).sum(axis=-1)
    return np.where(varies.any(axis=-1), total / np.maximum(varies.sum(axis=-1), 1), np.nan)


def _members(predictors: Sequence[Predictor]) -> list[Dynamics]:
    """Return the members of a single ensemble; an empty list for anything else."""
    only = predictors[0]
    if len(predictors) > 1 or not isinstance(only, Ensemble):
        return []
    return [only.member(number) for number in range(only.size)]


def _predict(predictor: Predictor, block: Block, number: int) -> Float[Array, "n model_steps d"]:
    if not isinstance(predictor, Dynamics):
        return jnp.asarray(predictor(np.asarray(block.observations), np.asarray(block.actions)))
    keys = jax.random.split(jax.random.fold_in(jax.random.key(0), number), len(block.observations))
    return rollouts(predictor, block.observations, block.actions, keys).mean


@eqx.filter_jit
def _sums(
    predicted: Float[Array, "models n model_steps d"],
    compared: Float[Array, "members n model_steps d"],
    block: Block,
    fixed_horizon: int,
) -> tuple[Array, ...]:
    """Return the count, Σ error², Σ error² of the mean prediction, and Σ variance about it."""
    targets = block.targets[:, :, fixed_horizon - 1 :: fixed_horizon]
    inside = block.inside[:, fixed_horizon - 1 :: fixed_horizon, None]

    def total(values: Array) -> Array:
        return jnp.where(inside, values, 0.0).sum(axis=-3)

    return (
        inside.sum(axis=(0, 2)),
        total(jnp.square(targets[:, None] - predicted)),
        total(jnp.square(targets - compared.mean(axis=0))),
        total(compared.var(axis=0)),
    )
