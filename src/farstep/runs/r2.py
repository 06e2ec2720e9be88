"""R² of a run as plain values: JSON knows neither infinity nor NaN."""

import numpy as np
from jaxtyping import Float


def encoded(values: Float[np.ndarray, "steps d"]) -> list[list[float | str]]:
    """Return plain values, with digits that matter."""
    return [[_rounded(value) for value in row] for row in values]


def decoded(values: list[list[float | str]]) -> Float[np.ndarray, "steps d"]:
    """Return what `encoded` was given."""
    return np.array(values, np.float64)


def _rounded(value: float) -> float | str:
    return round(float(value), 7) if np.isfinite(value) else str(value)
