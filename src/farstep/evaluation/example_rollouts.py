"""A few predicted rollouts beside the recorded ones, to draw."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from farstep.data.episodes import Episodes
from farstep.evaluation.calibration import predictive
from farstep.evaluation.rollout_errors import Predictor, fixed_horizon_of
from farstep.evaluation.subtrajectories import BLOCK
from farstep.models.contract import Dynamics
from farstep.models.rollout import rollouts


class PredictedRollouts(NamedTuple):
    """One model's rollouts from every start."""

    steps: Int[np.ndarray, " n"]
    """Steps ahead of each prediction."""
    mean: Float[np.ndarray, "starts n d"]
    """Rollouts that feed back the mean, as R² does."""
    std: Float[np.ndarray, "starts n d"] | None
    """None for a model without uncertainty."""


class ExampleRollouts(NamedTuple):
    """Recorded trajectories from a few starts, and each model's rollouts from the same starts."""

    starts: list[str]
    """Episode and step of each start, as text."""
    observed: Float[np.ndarray, "starts steps+1 d"]
    predicted: dict[str, PredictedRollouts]


def example_rollouts(
    predictors: Mapping[str, Predictor], episodes: Episodes, horizon: int, count: int = 3
) -> ExampleRollouts:
    """Roll out each predictor from `count` starts, spread over episodes and over their lengths."""
    longest = np.flatnonzero(episodes.lengths >= horizon)
    chosen = longest[np.linspace(0, len(longest) - 1, min(count, len(longest))).astype(int)]
    spare = episodes.lengths[chosen] - horizon
    first = (spare * (np.arange(len(chosen)) + 0.5) / len(chosen)).astype(int)
    rows = episodes.row_offsets[chosen] + first
    steps = episodes.step_offsets[chosen] + first
    observed = episodes.observations[rows[:, None] + np.arange(horizon + 1)].astype(np.float32)
    actions = episodes.actions[steps[:, None] + np.arange(horizon)].astype(np.float32)
    return ExampleRollouts(
        starts=[f"episode {e}, step {t}" for e, t in zip(chosen, first, strict=True)],
        observed=observed,
        predicted={
            name: _rollouts(predictor, observed[:, 0], actions)
            for name, predictor in predictors.items()
        },
    )


def _rollouts(
    predictor: Predictor, observations: np.ndarray, actions: np.ndarray
) -> PredictedRollouts:
    fixed_horizon = fixed_horizon_of(predictor)
    steps = np.arange(fixed_horizon, actions.shape[1] + 1, fixed_horizon)
    if not isinstance(predictor, Dynamics):
        return PredictedRollouts(steps, np.asarray(predictor(observations, actions)), None)
    # Padded to a block, so that the programs compiled for calibration are used again.
    fill = [(0, BLOCK - len(observations)), (0, 0), (0, 0)]
    block = jnp.asarray(np.pad(observations, fill[:2])), jnp.asarray(np.pad(actions, fill))
    keys = jax.random.split(jax.random.key(2), BLOCK)
    mean, _ = rollouts(predictor, *block, keys)
    _, std = predictive(predictor, *block, keys)
    known = bool((std > 0).any())
    few = len(observations)
    return PredictedRollouts(
        steps, np.asarray(mean)[:few], np.asarray(std)[:few] if known else None
    )
