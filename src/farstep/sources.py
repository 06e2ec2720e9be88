"""What tells one function of the user's own from another: its source, and the values it uses."""

import dataclasses
import hashlib
import inspect
import marshal
import re
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np


def source_of(function: Callable[..., Any] | None) -> str:
    """Return a text that is another for another function.

    That is its source, or else its name and its code; of an object that can be called, its class
    and what it shows of itself. Values from outside that a function uses (of the function around
    it, of its module) are in it, and so are functions of the same module.
    """
    return _told(function, ())


def _told(function: Any, within: tuple[Any, ...]) -> str:
    if function is None:
        return "none"
    if isinstance(function, partial):
        given = [_value(one, within) for one in function.args]
        named = {name: _value(one, within) for name, one in sorted(function.keywords.items())}
        return f"{_told(function.func, within)} {given} {named}"
    function = inspect.unwrap(function)
    if not (inspect.isroutine(function) or isinstance(function, type)):
        return f"{_told(type(function), within)} {_shown(function, within)}"
    used = _used(function, (*within, function))
    return f"{_text(function)} {used}" if used else _text(function)


def _text(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed at a prompt
        code = getattr(function, "__code__", None)
        told = "" if code is None else hashlib.sha256(marshal.dumps(code)).hexdigest()
        name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        return f"{name} {told}".strip()


def _used(function: Any, within: tuple[Any, ...]) -> dict[str, str]:
    """Return the values from outside that a function uses, by name; no modules and no classes."""
    if not isinstance(function, FunctionType):
        return {}
    try:
        found = inspect.getclosurevars(function)
    except ValueError:  # a name of the function around it that has no value yet
        return {}
    values = {**found.globals, **found.nonlocals, **(function.__kwdefaults__ or {})}
    values |= {f"default {number}": one for number, one in enumerate(function.__defaults__ or ())}
    return {
        name: _value(value, within)
        for name, value in sorted(values.items())
        if not isinstance(value, (ModuleType, type)) and not any(value is one for one in within)
    }


def _value(value: Any, within: tuple[Any, ...]) -> str:
    value = inspect.unwrap(value) if callable(value) else value
    if hasattr(value, "__array__") and not isinstance(value, type):
        array = np.asarray(value)
        return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
    if isinstance(value, partial):
        return _told(value, within)
    if inspect.isroutine(value):
        module = getattr(value, "__module__", None)
        ours = any(getattr(one, "__module__", None) == module for one in within)
        return _told(value, within) if ours else f"{module}.{value.__qualname__}"
    return _shown(value, within)


def _shown(value: Any, within: tuple[Any, ...]) -> str:
    """Return what an object shows of itself; the attributes where that is nothing, or too little.

    Addresses, which are others in every process, are left out.
    """
    plain = type(value).__repr__ is object.__repr__ or dataclasses.is_dataclass(value)
    if plain and hasattr(value, "__dict__"):
        inside = (*within, value)
        attributes = {
            name: _value(one, inside)
            for name, one in sorted(vars(value).items())
            if not any(one is outer for outer in inside)
        }
        return f"{type(value).__qualname__} {attributes}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
