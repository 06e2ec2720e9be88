"""R² of one run as a small file: what was run, on which data, and the numbers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from farstep.files import publish

NAME = "r2.json"


def write_r2(
    place: Path, run: Mapping[str, Any], fingerprint: str, values: Float[np.ndarray, "steps d"]
) -> None:
    """Store R² of each step and dimension, atomically."""
    rounded = [[_rounded(value) for value in row] for row in values]
    content = {"run": run, "data": fingerprint, "r2": rounded}
    publish(place / NAME, {"": json.dumps(content).encode() + b"\n"}, force=True)


def read_r2(
    place: Path, run: Mapping[str, Any], fingerprint: str, added: Mapping[str, Any] | None = None
) -> Float[np.ndarray, "steps d"] | None:
    """Return what was stored, if it is there, whole, and of this run and data.

    Args:
        place: The run's directory.
        run: What is run.
        fingerprint: Of the data.
        added: Values of settings of the fit which are not in the file because they were added
            since.
    """
    try:
        content = json.loads((place / NAME).read_text())
        was = content["run"]
        if added is not None:
            was = {**was, "config": {**added, **was["config"]}}
        same = was == json.loads(json.dumps(run)) and content["data"] == fingerprint
        return np.array(content["r2"], np.float64) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _rounded(value: float) -> float | str:
    """Return a number for JSON, which knows neither infinity nor NaN, with digits that matter."""
    return round(float(value), 7) if np.isfinite(value) else str(value)
