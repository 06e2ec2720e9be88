"""Numbers as JSON can hold them: it knows neither NaN nor infinity, nor arrays."""

import math
from typing import Any

import numpy as np


def json_numbers(values: Any) -> Any:
    """Return a number or nested lists of them, with None for what is not finite."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)) or np.ndim(values):
        return [json_numbers(value) for value in values]
    return float(values) if math.isfinite(values) else None
