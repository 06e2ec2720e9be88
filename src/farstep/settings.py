"""Settings: frozen dataclasses that check their own values, with one place for the messages."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from farstep.errors import FarstepError, did_you_mean

T = TypeVar("T")
_LARGEST = 2**31


def check_fields(
    config: Any,
    at_least: Mapping[str, float | int] | None = None,
    positive: Collection[str] = (),
    between_0_and_1: Collection[str] = (),
) -> None:
    """Fail with one line unless every field has a value of its type and within its range.

    Call it in `__post_init__`. NumPy's numbers become Python's, lists become tuples, and whole
    numbers become floats where the field is one. None passes where the field allows it.

    Args:
        config: The dataclass.
        at_least: The smallest value of some fields.
        positive: Fields above 0 and finite.
        between_0_and_1: Fields from 0 to 1.
    """
    for name, hint in get_type_hints(type(config)).items():
        value = native(getattr(config, name))
        words = get_args(hint) if get_origin(hint) is Literal else ()
        if words:
            check_choice(name, value, words)
        if not _fits(value, hint):
            raise FarstepError(f"{name} must be {_described(hint)}, not {value!r}.")
        if float in (hint, *get_args(hint)) and isinstance(value, int):
            value = float(value)
        object.__setattr__(config, name, value)
    given = {name: value for name, value in vars(config).items() if value is not None}
    for name, least in (at_least or {}).items():
        if name in given and not least <= given[name] < _LARGEST:
            below = "" if given[name] < _LARGEST else f" and below {_LARGEST}"
            raise FarstepError(f"{name} must be at least {least:g}{below}, not {given[name]:g}.")
    for name in positive:
        if name in given and not 0 < given[name] < float("inf"):
            raise FarstepError(f"{name} must be above 0, not {given[name]:g}.")
    for name in between_0_and_1:
        if name in given and not 0 <= given[name] <= 1:
            raise FarstepError(f"{name} must be between 0 and 1, not {given[name]:g}.")


def replaced(config: T, settings: Mapping[str, Any]) -> T:
    """Return a configuration with some fields replaced; an unknown name is an error.

    A field that is itself a configuration takes a mapping of what to replace in it.
    """
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise FarstepError(f"{config!r} is no configuration; give settings by name.")
    known = [field.name for field in dataclasses.fields(config)]
    new = {}
    for name, value in settings.items():
        check_choice("setting", name, known)
        old = getattr(config, name)
        nested = dataclasses.is_dataclass(old) and isinstance(value, Mapping)
        new[name] = replaced(old, value) if nested else value
    return dataclasses.replace(config, **new)


def chosen(
    given: T | str | Mapping[str, Any] | None,
    presets: Mapping[str, T],
    default: str,
    changes: Mapping[str, Any] | None = None,
) -> T:
    """Return the configuration that a user means.

    Args:
        given: A configuration; a preset's name; settings by name, which change the default preset
            or the one that they name as `preset`; or None for the default preset.
        presets: Configurations by name.
        default: The preset to use where none is named.
        changes: Settings by name that come on top.
    """
    if isinstance(given, str):
        given = {"preset": given}
    if given is not None and not isinstance(given, Mapping):
        return replaced(given, changes or {})
    settings = {**(given or {}), **(changes or {})}
    preset = settings.pop("preset", default)
    check_choice("preset", preset, presets)
    return replaced(presets[preset], settings)


def check_counts(least: Mapping[str, int], values: Mapping[str, Any]) -> None:
    """Fail if an argument that counts something is no whole number, too small or too large."""
    for name, value in least.items():
        given = values[name]
        if not isinstance(given, (int, np.integer)) or given < value:
            raise FarstepError(f"{name} must be a whole number of at least {value}, not {given}.")
        if given >= _LARGEST:
            raise FarstepError(f"{name} must be below {_LARGEST}, not {given}.")


def check_choice(name: str, given: Any, known: Iterable[str]) -> None:
    """Fail unless `given` is one of the known names."""
    if not isinstance(given, str) or given not in known:
        raise FarstepError(f"there is no {name} {given!r}. {did_you_mean(given, known)}")


def changed(config: Any, reference: Any) -> dict[str, Any]:
    """Return the fields in which a configuration differs from another, as plain values."""
    base = dataclasses.asdict(reference)
    return {n: v for n, v in dataclasses.asdict(config).items() if v != base[n]}


def native(value: Any) -> Any:
    """Return NumPy's numbers as Python's, and lists and arrays as tuples."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    return tuple(native(one) for one in value) if isinstance(value, (list, tuple)) else value


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a field's type; whole numbers pass for floats."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return value in parts
    if get_origin(hint) is tuple:
        if not isinstance(value, tuple):
            return False
        several = parts[-1:] == (Ellipsis,)
        kinds = parts[:1] * len(value) if several else parts
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if parts:
        return any(_fits(value, part) for part in parts)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _described(hint: Any) -> str:
    """Return a type in words."""
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        return f"a list, each {_described(parts[0])}"
    if parts:
        return " or ".join(_described(part) for part in parts)
    names = {float: "a number", int: "a whole number", str: "a text", type(None): "None"}
    return names.get(hint, str(hint))
