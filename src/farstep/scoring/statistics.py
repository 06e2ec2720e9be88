"""Intervals and comparisons over seeds and tasks."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, trim_mean

from farstep.scoring.intervals import LEVEL

_SAMPLES = 5_000
_QUARTER = 0.25


class Estimate(NamedTuple):
    """A number and its 90 % interval."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """One method against another, seed by seed and task by task."""

    difference: Estimate
    """Mean of the first less the second."""
    wins: float
    """Share of pairs in which the first is higher; ties count half."""


def gaussian_half_width(values: Float[np.ndarray, " n *any"]) -> Float[np.ndarray, "*any"]:
    """Return half the width of the Gaussian 90 % interval of the mean, as in the paper.

    Of three seeds it is about half as wide as Student's, and too narrow; for comparison only.
    """
    count = len(values)
    if count < 2:
        return np.full(np.shape(values)[1:], np.nan)
    return np.asarray(norm.ppf(0.5 + LEVEL / 2) * values.std(axis=0, ddof=1) / np.sqrt(count))


def interquartile_mean(values: Float[np.ndarray, "seeds tasks"]) -> Estimate:
    """Return the mean of the middle half of all values, with a bootstrap interval.

    As in rliable (Agarwal et al., 2021): seeds are drawn again within each task.
    """
    return _bootstrap(values, lambda drawn: trim_mean(drawn.reshape(len(drawn), -1), _QUARTER, 1))


def compare(
    first: Float[np.ndarray, "seeds tasks"], second: Float[np.ndarray, "seeds tasks"]
) -> Comparison:
    """Return how much the first is above the second; seed i of one is paired with i of the other.

    The interval is a bootstrap of the pairs' differences, drawn again within each task.
    """
    differences = first - second
    wins = float(np.mean((differences > 0) + 0.5 * (differences == 0)))
    return Comparison(_bootstrap(differences, lambda drawn: drawn.mean(axis=(1, 2))), wins)


def correlation(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> Estimate:
    """Return Pearson's correlation with a bootstrap interval over the points; NaN of a constant."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(np.nan, np.nan, np.nan)
    chosen = np.random.default_rng(0).integers(len(x), size=(_SAMPLES, len(x)))
    drawn = [_pearson(x[rows], y[rows]) for rows in chosen]
    low, high = np.nanquantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(_pearson(x, y), float(low), float(high))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    a, b = x - x.mean(), y - y.mean()
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return float(np.clip((a * b).sum() / scale, -1, 1)) if scale > 0 else float("nan")


def _bootstrap(values: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Return a statistic of (samples, seeds, tasks), with its interval."""
    seeds, tasks = values.shape
    rows = np.random.default_rng(0).integers(seeds, size=(_SAMPLES, seeds, tasks))
    drawn = statistic(values[rows, np.arange(tasks)])
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(float(statistic(values[None])[0]), float(low), float(high))
