"""ModelMetrics: the measurements of one model, or of several seeds of one configuration."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import t

from farstep.evaluation.calibration import LEVELS, Calibration
from farstep.evaluation.rollout_errors import mean_r_squared
from farstep.storage.fingerprint import json_numbers

Kind: TypeAlias = Literal["model", "baseline", "oracle"]
LEVEL = 0.9
"""Confidence level of intervals over seeds."""
THRESHOLDS = (0.9, 0.5, 0.0)
"""Reports name the first horizon at which R² is below each of these."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelMetrics:
    """How well one configuration predicts, 1 to H steps ahead."""

    name: str
    kind: Kind
    steps: Int[np.ndarray, " n"]
    """The horizons; multiples of h for a model that spans h steps."""
    r2_dimensions: Float[np.ndarray, "seeds n d"]
    """R² of each observation, NaN where it does not vary."""
    r2_clean_dimensions: Float[np.ndarray, "seeds n d"] | None = None
    """The same against observations without noise, where the dataset has them."""
    rmse_dimensions: Float[np.ndarray, "seeds n d"] | None = None
    """Root mean squared error of each observation, in its own unit."""
    bias: Float[np.ndarray, " n"] | None = None
    """Bias² over SST: the squared error of the mean prediction of all seeds or members."""
    variance: Float[np.ndarray, " n"] | None = None
    """Variance over SST between seeds or members. `bias` plus `variance` is their mean 1 − R²."""
    r2_reward: Float[np.ndarray, "seeds n"] | None = None
    """R² of a learned reward, along the model's own states."""
    calibrations: tuple[Calibration, ...] = ()
    """One for each seed, if the model has a standard deviation."""

    def __repr__(self) -> str:
        last = int(self.steps[-1])
        r2 = f"R²({last}) = {self.at(last)[0]:.4g}"
        return f"ModelMetrics({self.name!r}, {self.seeds} seed(s), {r2})"

    @property
    def seeds(self) -> int:
        """Number of models of this configuration."""
        return len(self.r2_dimensions)

    @property
    def r2(self) -> Float[np.ndarray, "seeds n"]:
        """R², the mean over dimensions that vary."""
        return mean_r_squared(self.r2_dimensions)

    @property
    def r2_clean(self) -> Float[np.ndarray, "seeds n"] | None:
        """R² against observations without noise."""
        clean = self.r2_clean_dimensions
        return None if clean is None else mean_r_squared(clean)

    def at(self, horizon: int) -> tuple[float, float]:
        """Return R² this many steps ahead and half its interval; NaN where there is none."""
        place = np.flatnonzero(self.steps == horizon)
        if not len(place):
            return float("nan"), float("nan")
        values = self.r2[:, place[0]]
        return float(values.mean()), float(half_width(values))

    @property
    def mean_r2(self) -> tuple[float, float]:
        """The mean of R² over all horizons, and half its interval."""
        values = np.nanmean(self.r2, axis=1)
        return float(values.mean()), float(half_width(values))

    @property
    def error(self) -> Float[np.ndarray, "seeds n"]:
        """√(1 − R²): the error in standard deviations of the targets at that horizon."""
        return np.sqrt(np.maximum(1 - self.r2, 0.0))

    @property
    def growth_rate(self) -> float:
        """Relative growth of the error per step: the slope of its logarithm, mean over seeds.

        Fitted by least squares to the horizons where 0 < error < 1, since a larger error is
        saturated or diverging. NaN if fewer than two horizons remain.
        """
        rates = []
        for error in self.error:
            used = (error > 1e-6) & (error < 1)
            if used.sum() > 1:
                rates.append(np.polyfit(self.steps[used], np.log(error[used]), 1)[0])
        return float(np.expm1(np.mean(rates))) if len(rates) == self.seeds else float("nan")

    def falls_below(self, threshold: float | int) -> int | None:
        """Return the first horizon at which the seeds' mean R² is below a threshold, or None."""
        below = np.flatnonzero(self.r2.mean(axis=0) < threshold)
        return int(self.steps[below[0]]) if len(below) else None

    @property
    def diverged(self) -> int | None:
        """The first horizon at which an error is too large to square, or None."""
        bad = np.flatnonzero(np.isneginf(self.r2).any(axis=0))
        return int(self.steps[bad[0]]) if len(bad) else None

    @property
    def coverage(self) -> Float[np.ndarray, "levels n"] | None:
        """Share of observations inside the 50 and 90 % intervals, mean over seeds."""
        parts = [one.coverage for one in self.calibrations]
        return np.mean(parts, axis=0) if parts else None

    @property
    def crps(self) -> Float[np.ndarray, " n"] | None:
        """Continuous ranked probability score, mean over seeds."""
        parts = [one.crps for one in self.calibrations]
        return np.mean(parts, axis=0) if parts else None

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain values, with None for NaN and infinity."""
        arrays = {
            "r2": self.r2,
            "r2_clean": self.r2_clean,
            "r2_dimensions": self.r2_dimensions,
            "r2_clean_dimensions": self.r2_clean_dimensions,
            "rmse_dimensions": self.rmse_dimensions,
            "r2_reward": self.r2_reward,
            "bias": self.bias,
            "variance": self.variance,
            "crps": self.crps,
        }
        coverage = self.coverage
        return {
            "name": self.name,
            "kind": self.kind,
            "seeds": self.seeds,
            "steps": self.steps.tolist(),
            "mean_r2": json_numbers(self.mean_r2[0]),
            "growth_rate": json_numbers(self.growth_rate),
            "falls_below": {str(value): self.falls_below(value) for value in THRESHOLDS},
            "diverged": self.diverged,
            **{name: json_numbers(values) for name, values in arrays.items()},
            "coverage": None if coverage is None else dict(
                zip(map(str, LEVELS), json_numbers(coverage), strict=True)
            ),
        }  # fmt: skip


def half_width(values: Float[np.ndarray, " n *any"]) -> Float[np.ndarray, "*any"]:
    """Return half the width of Student's 90 % interval of the mean; NaN for a single value."""
    count = len(values)
    if count < 2:
        return np.full(np.shape(values)[1:], np.nan)
    with np.errstate(invalid="ignore"):
        error = np.asarray(values.std(axis=0, ddof=1) / np.sqrt(count))
    return np.asarray(t.ppf(0.5 + LEVEL / 2, count - 1) * error)
