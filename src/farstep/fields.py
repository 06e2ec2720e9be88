"""Settings: fields of frozen dataclasses, replaced by name and told apart by a hash."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from farstep.errors import FarstepError, did_you_mean

T = TypeVar("T")


def replaced(config: T, settings: Mapping[str, Any]) -> T:
    """Return a configuration with some fields replaced; an unknown name is an error."""
    known = [field.name for field in dataclasses.fields(config)]  # pyright: ignore[reportArgumentType]
    for name in settings:
        if name not in known:
            raise FarstepError(f"there is no setting '{name}'. {did_you_mean(name, known)}")
    plain = {name: _plain(value) for name, value in settings.items()}
    check_words(type(config), plain)
    return dataclasses.replace(config, **plain)  # pyright: ignore[reportArgumentType]


def check_words(kind: type, values: Mapping[str, Any]) -> None:
    """Fail if a field that takes some words only is given another."""
    for name, hint in get_type_hints(kind).items():
        words = [word for part in (hint, *get_args(hint)) for word in _words(part)]
        given = values.get(name)
        if words and given is not None and given not in words:
            raise FarstepError(f"there is no {name} '{given}'. {did_you_mean(str(given), words)}")


def identity_of(**parts: Any) -> str:
    """Return a text that is the same for the same settings and data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's, which JSON knows, and lists as tuples."""
    if isinstance(value, list):
        return tuple(value)
    return value.item() if isinstance(value, np.generic) else value


def _words(hint: Any) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()
