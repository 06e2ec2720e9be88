"""Intervals and comparisons of the paper's table and figure, over seeds and tasks."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, trim_mean

from farstep.evaluation.metrics import LEVEL

_BOOTSTRAP_SAMPLES = 5_000


class Estimate(NamedTuple):
    """A number and its 90 % interval."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """One method against another, seed by seed and task by task."""

    difference: Estimate
    """Mean of the first minus the second."""
    wins: float
    """Share of pairs in which the first is higher; ties count half."""


def with_half(mean: float, half: float) -> str:
    """Return a mean with half its interval, which a single value does not have (NaN)."""
    return f"{mean:.0f}" if math.isnan(half) else f"{mean:.0f} ± {half:.0f}"


def gaussian_half_width(values: Float[np.ndarray, " n *any"]) -> Float[np.ndarray, "*any"]:
    """Return half the width of the Gaussian 90 % interval of the mean; NaN for a single value.

    The paper reports this one. For three seeds it is 0.56 of Student's interval, which is too
    narrow: use it only to compare with the paper.
    """
    count = len(values)
    if count < 2:
        return np.full(np.shape(values)[1:], np.nan)
    return np.asarray(norm.ppf(0.5 + LEVEL / 2) * values.std(axis=0, ddof=1) / np.sqrt(count))


def interquartile_mean(values: Float[np.ndarray, "seeds tasks"]) -> Estimate:
    """Return the mean of the middle half of all values, with a bootstrap interval.

    As in rliable (Agarwal et al., 2021), the bootstrap resamples seeds within each task.
    """
    return _bootstrap(values, lambda drawn: trim_mean(drawn.reshape(len(drawn), -1), 0.25, 1))


def compare(
    first: Float[np.ndarray, "seeds tasks"], second: Float[np.ndarray, "seeds tasks"]
) -> Comparison:
    """Compare two methods; seed i of one is paired with seed i of the other.

    The interval is a bootstrap of the pairs' differences, resampled within each task.
    """
    differences = first - second
    wins = float(np.mean((differences > 0) + 0.5 * (differences == 0)))
    return Comparison(_bootstrap(differences, lambda drawn: drawn.mean(axis=(1, 2))), wins)


def correlation(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> Estimate:
    """Return Pearson's correlation with a bootstrap interval over the points.

    NaN for fewer than three points, or if x or y is constant.
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(np.nan, np.nan, np.nan)
    samples = np.random.default_rng(0).integers(len(x), size=(_BOOTSTRAP_SAMPLES, len(x)))
    drawn = [_pearson(x[rows], y[rows]) for rows in samples]
    low, high = np.nanquantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(_pearson(x, y), float(low), float(high))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    a, b = x - x.mean(), y - y.mean()
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return float(np.clip((a * b).sum() / scale, -1, 1)) if scale > 0 else float("nan")


def _bootstrap(values: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Return a statistic of (samples, seeds, tasks), with its interval."""
    seeds, tasks = values.shape
    rows = np.random.default_rng(0).integers(seeds, size=(_BOOTSTRAP_SAMPLES, seeds, tasks))
    drawn = statistic(values[rows, np.arange(tasks)])
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Estimate(float(statistic(values[None])[0]), float(low), float(high))
