"""Settings: fields of frozen dataclasses, replaced by name and told apart by a hash."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from farstep.errors import FarstepError, did_you_mean

T = TypeVar("T")


def replaced(config: T, settings: Mapping[str, Any]) -> T:
    """Return a configuration with some fields replaced; an unknown name is an error.

    Those that it had are checked too: who makes a configuration may give it anything.
    """
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise FarstepError(f"settings come by name, or as a configuration, not as {config!r}.")
    known = [field.name for field in dataclasses.fields(config)]
    for name in settings:
        if name not in known:
            raise FarstepError(f"there is no setting '{name}'. {did_you_mean(name, known)}")
    had = {name: getattr(config, name) for name in known}
    plain = {name: native(value) for name, value in {**had, **settings}.items()}
    check_words(type(config), plain)
    for name, hint in get_type_hints(type(config)).items():
        if name in plain and not _fits(plain[name], hint):
            raise FarstepError(f"{name} must be {_said(hint)}, not {plain[name]!r}.")
        if float in (hint, *get_args(hint)) and isinstance(plain.get(name), int):
            plain[name] = float(plain[name])
    return dataclasses.replace(config, **plain)


def check_least(
    least: Mapping[str, int], values: Mapping[str, Any], below: int | None = 2**31
) -> None:
    """Fail if a field that counts something is no whole number, or too small, or too large."""
    for name, value in least.items():
        given = values[name]
        if not isinstance(given, (int, np.integer)) or given < value:
            raise FarstepError(f"{name} must be a whole number of at least {value}, not {given}.")
        if below is not None and given >= below:
            raise FarstepError(f"{name} must be below {below}, not {given}.")


def check_words(kind: type, values: Mapping[str, Any]) -> None:
    """Fail if a field that takes some words only is given another."""
    for name, hint in get_type_hints(kind).items():
        words = [word for part in (hint, *get_args(hint)) for word in _words(part)]
        given = values.get(name)
        if words and given is not None:
            check_word(name, given, words)


def check_word(name: str, given: Any, known: Iterable[str]) -> None:
    """Fail unless something that has a name is one of the known ones."""
    if not isinstance(given, str) or given not in known:
        raise FarstepError(f"there is no {name} {given!r}. {did_you_mean(given, known)}")


def changed(config: Any, reference: Any) -> dict[str, Any]:
    """Return the fields of a configuration that differ from a reference's.

    For identities: a field that is added later, with the value in the reference that it always
    had in effect, changes none.
    """
    base = dataclasses.asdict(reference)
    return {n: v for n, v in dataclasses.asdict(config).items() if v != base[n]}


def identity_of(**parts: Any) -> str:
    """Return a text that is the same for the same settings and data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def native(value: Any) -> Any:
    """Return NumPy's numbers as Python's, which JSON knows, and lists as tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(native(one) for one in value)
    return value.item() if isinstance(value, np.generic) else value


def _words(hint: Any) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a field's type; whole numbers pass for floats."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return value in parts
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(v, parts[0]) for v in value)
    if parts:
        return any(_fits(value, part) for part in parts)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _said(hint: Any) -> str:
    """Return a type in words."""
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        return f"a list, each {_said(parts[0])}"
    if parts:
        return " or ".join(_said(part) for part in parts)
    names = {float: "a number", int: "a whole number", str: "a text", type(None): "none"}
    return names.get(hint, str(hint))
