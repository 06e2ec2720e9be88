"""weights="auto": choose the training horizon from how fast a one-step model's errors grow.

A short pilot fit one step ahead is rolled out on the validation episodes. Its squared error e(j),
j steps ahead, has two parts. One cannot be predicted, such as sensor noise, and is the same at
every j. The other grows with j, because the model's own errors compound. The multi-step loss
teaches about compounding where the second part is the larger one. So the horizon is the first one
whose error is `GROWTH` times that of one step.

It is shorter where the error has doubled and exceeds a share `LOST` of the observations' variance:
training on predictions that are far from the data costs accuracy at short horizons. All horizons up
to the chosen one have the same weight.

Clean data give a short horizon, whose updates are cheap. Noisy data give a longer one, at which
dynamics exceed noise.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from farstep.data.episodes import Episodes
from farstep.evaluation.rollout_errors import mean_r_squared, rollout_errors
from farstep.models.contract import Dynamics
from farstep.storage.fingerprint import json_numbers
from farstep.training.config import FitConfig
from farstep.training.weights import Auto

GROWTH = 10.0
"""Errors are compared with this many times the error one step ahead."""
LOST = 0.1
"""Share of the observations' variance."""
PILOT = 800
"""Model steps of the pilot, or a fifth of the fit's model steps or epochs if that is less."""
_MOST_STARTS = 5000
"""The largest number of sub-trajectories that the pilot is evaluated on."""


class HorizonChoice(NamedTuple):
    """The chosen horizon, and the error growth that it was chosen by."""

    horizon: int
    growth: list[float | None]
    """e(j)/e(1) of the pilot, for j from 1 to the longest horizon; None where not finite."""


def within(config: FitConfig, train: Episodes, validation: Episodes | None) -> FitConfig:
    """Limit the steps of the observer, and a horizon that is to be chosen, to short episodes.

    Without `validation`, part of the training data is held out, so half an episode may remain. A
    given horizon leaves the remaining steps to the observer; one that is chosen leaves it half.
    """
    longest = train.lengths.max() // 2 if validation is None else validation.lengths.max()
    allowed = min(int(longest), int(train.lengths.max()))
    if config.weights != Auto().text:
        left = max(0, allowed - config.horizon * config.fixed_horizon)
        return replace(config, observer_steps=min(config.observer_steps, left))
    observer_steps = min(config.observer_steps, allowed // 2)
    horizon = min(config.horizon, (allowed - observer_steps) // config.fixed_horizon)
    return replace(config, observer_steps=observer_steps, horizon=max(1, horizon))


def pilot(config: FitConfig) -> FitConfig:
    """Return the configuration of the pilot of a fit."""
    epochs, steps = config.epochs, config.model_steps
    return replace(
        config,
        horizon=1,
        weights="uniform",
        ensemble_size=1,
        truncate_gradient=None,
        epochs=None if epochs is None else max(1, epochs // 5),
        model_steps=None if steps is None else max(1, min(PILOT, steps // 5)),
    )


def choose(dynamics: Dynamics, validation: Episodes, longest: int) -> HorizonChoice:
    """Choose a horizon of at most `longest` model steps by the growth of a pilot's errors."""
    found = rollout_errors(
        [dynamics], validation, longest * dynamics.fixed_horizon, most=_MOST_STARTS
    )
    return first_grown(1 - mean_r_squared(found.r_squared[0, 0]))


def first_grown(squared: Float[np.ndarray, " j"]) -> HorizonChoice:
    """Choose the first horizon whose error has grown enough, else the last.

    Args:
        squared: e(j), in units of the variance; NaN where it is unknown, and never chosen.
    """
    growth = squared / max(squared[0], np.finfo(float).tiny)
    grown = np.flatnonzero((growth >= GROWTH) | ((growth >= 2) & (squared >= LOST)))
    horizon = grown[0] + 1 if len(grown) else np.count_nonzero(~np.isnan(growth))
    return HorizonChoice(max(1, int(horizon)), json_numbers(growth))
