"""weights="auto": how far ahead to train, from how fast a one-step model's errors grow.

A short pilot fit one step ahead is rolled out on the validation episodes. Its squared error j steps
ahead, e(j), is in parts what cannot be predicted (noise of the sensors, which is there at every
j alike) and what the model's own errors compound to, which grows with j. The losses tell about
compounding where the second part is the larger one: so the horizon is the first one at which the
error is `GROWTH` times that of one step. Where it has doubled and is a share `LOST` of the states'
variance, that is far enough: what is trained on predictions that are far from the data costs
accuracy near by. All horizons up to the chosen one weigh alike.

With clean data errors grow fast, and a short horizon, whose updates are cheap, tells enough; with
noisy data it takes more steps until what is learned is more than noise.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from farstep.dynamics.contract import Dynamics
from farstep.episodes import Episodes
from farstep.fitting.config import FitConfig
from farstep.json_numbers import json_numbers
from farstep.scoring.errors import errors, mean_r_squared
from farstep.weights import Auto

GROWTH = 10.0
"""Times the error one step ahead."""
LOST = 0.1
"""Of the variance of the states."""
PILOT = 800
"""Updates of the pilot, or a fifth of the fit's compositions or epochs if that is less."""
_STARTS = 5000
"""Sub-trajectories, at most, that the pilot is measured on."""


class Chosen(NamedTuple):
    """What was chosen, and from what."""

    horizon: int
    growth: list[float | None]
    """e(j)/e(1) of the pilot, at j = 1 … the longest horizon; None for what is no number."""


def within(config: FitConfig, train: Episodes, validation: Episodes | None) -> FitConfig:
    """Return settings that the data allow, with a part to hold out.

    An observer gets fewer steps where episodes are short; a horizon that is to be chosen leaves it
    half of them.
    """
    longest = train.lengths.max() // 2 if validation is None else validation.lengths.max()
    allowed = min(int(longest), int(train.lengths.max()))
    if config.weights != Auto().text:
        left = max(0, allowed - config.horizon * config.stride)
        return replace(config, settle=min(config.settle, left))
    settle = min(config.settle, allowed // 2)
    horizon = min(config.horizon, (allowed - settle) // config.stride)
    return replace(config, settle=settle, horizon=max(1, horizon))


def pilot(config: FitConfig) -> FitConfig:
    """Return the settings of the pilot of a fit."""
    shorter = replace(config, horizon=1, weights="uniform", members=1, gradient="full")
    if config.epochs is not None:
        return replace(shorter, epochs=max(1, config.epochs // 5))
    return replace(shorter, compositions=max(1, min(PILOT, config.compositions // 5)))


def choose(dynamics: Dynamics, validation: Episodes, longest: int) -> Chosen:
    """Choose a horizon of at most `longest` compositions by the growth of a pilot's errors."""
    found = errors([dynamics], validation, longest * dynamics.stride, most=_STARTS)
    return first_grown(1 - mean_r_squared(found.r_squared[0, 0]))


def first_grown(squared: Float[np.ndarray, " j"]) -> Chosen:
    """Return the first horizon whose error has grown enough, else the last.

    Errors are shares of the variance. NaN stands for what could not be measured: such horizons
    are not chosen.
    """
    growth = squared / max(squared[0], np.finfo(float).tiny)
    grown = np.flatnonzero((growth >= GROWTH) | ((growth >= 2) & (squared >= LOST)))
    horizon = grown[0] + 1 if len(grown) else np.count_nonzero(~np.isnan(growth))
    return Chosen(max(1, int(horizon)), json_numbers(growth))
