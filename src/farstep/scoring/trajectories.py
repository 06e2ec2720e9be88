"""A few imagined trajectories beside the true ones."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from farstep.dynamics.contract import Dynamics
from farstep.episodes import Episodes
from farstep.rollout import rollouts
from farstep.scoring.blocks import BLOCK
from farstep.scoring.calibration import predictive
from farstep.scoring.errors import Predictor, stride_of


class Imagined(NamedTuple):
    """One model's trajectories from every start."""

    steps: Int[np.ndarray, " n"]
    mean: Float[np.ndarray, "starts n d"]
    """With the mean fed back, as in R²."""
    std: Float[np.ndarray, "starts n d"] | None
    """None for a model without uncertainty."""


class Trajectories(NamedTuple):
    """The true trajectories from some starts, and what models imagine from the same starts."""

    places: list[str]
    """Where each start is."""
    truth: Float[np.ndarray, "starts steps+1 d"]
    imagined: dict[str, Imagined]


def trajectories(
    predictors: Mapping[str, Predictor], episodes: Episodes, horizon: int, count: int = 3
) -> Trajectories:
    """Roll models out from starts in `count` episodes, spread over the episodes' lengths."""
    longest = np.flatnonzero(episodes.lengths >= horizon)
    chosen = longest[np.linspace(0, len(longest) - 1, min(count, len(longest))).astype(int)]
    spare = episodes.lengths[chosen] - horizon
    first = (spare * (np.arange(len(chosen)) + 0.5) / len(chosen)).astype(int)
    rows = episodes.row_offsets[chosen] + first
    steps = episodes.step_offsets[chosen] + first
    truth = episodes.states[rows[:, None] + np.arange(horizon + 1)].astype(np.float32)
    actions = episodes.actions[steps[:, None] + np.arange(horizon)].astype(np.float32)
    return Trajectories(
        places=[f"episode {e}, step {t}" for e, t in zip(chosen, first, strict=True)],
        truth=truth,
        imagined={
            name: _imagined(predictor, truth[:, 0], actions)
            for name, predictor in predictors.items()
        },
    )


def _imagined(predictor: Predictor, states: np.ndarray, actions: np.ndarray) -> Imagined:
    stride = stride_of(predictor)
    steps = np.arange(stride, actions.shape[1] + 1, stride)
    if not isinstance(predictor, Dynamics):
        return Imagined(steps, np.asarray(predictor(states, actions)), None)
    # As many as in a block, so that what calibration has compiled is used again.
    fill = [(0, BLOCK - len(states)), (0, 0), (0, 0)]
    block = jnp.asarray(np.pad(states, fill[:2])), jnp.asarray(np.pad(actions, fill))
    keys = jax.random.split(jax.random.key(2), BLOCK)
    mean, _ = rollouts(predictor, *block, keys)
    _, std = predictive(predictor, *block, keys)
    known = bool((std > 0).any())
    few = len(states)
    return Imagined(steps, np.asarray(mean)[:few], np.asarray(std)[:few] if known else None)
