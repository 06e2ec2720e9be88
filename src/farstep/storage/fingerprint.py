"""Fingerprints: a text that is the same for the same configuration and data."""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from farstep.errors import FarstepError


def fingerprint_of(**parts: Any) -> str:
    """Return a SHA-256 of some configuration and data; give large arrays as their fingerprints."""
    try:
        text = json.dumps(plain(parts), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise FarstepError(
            f"the settings must be numbers, texts, lists and mappings of these: {error}."
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """Return dataclasses, tuples, paths and NumPy's arrays and numbers as JSON's values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values under names with dots, such as `fit.horizon`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def json_numbers(values: Any) -> Any:
    """Return a number or nested lists of them for JSON, with None for NaN and infinity."""
    if values is None:
        return None
    if isinstance(values, (list, tuple)) or np.ndim(values):
        return [json_numbers(value) for value in values]
    return float(values) if math.isfinite(values) else None


def qualified_name(given: Any) -> str:
    """Return `module:qualname` of a function or class, or of an object's class."""
    while isinstance(given, functools.partial):
        given = given.func
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{named.__module__}:{named.__qualname__}"
