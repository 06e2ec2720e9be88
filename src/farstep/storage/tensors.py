"""Named arrays and a JSON header in one safetensors file: loading it cannot run code."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy

from farstep.errors import FarstepError, one_line
from farstep.storage.files import nearby

T = TypeVar("T")
_SUFFIX = ".safetensors"
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError)
"""Raised by reading a header that is intact but has unexpected contents."""


def encode(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> bytes:
    """Return the file's bytes, with a SHA-256 of the arrays and of the header."""
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    text = json.dumps(dict(header), allow_nan=False)
    seal = _seal(digest(ordered), text)
    return safetensors.numpy.save(ordered, metadata={"farstep": text, "sha256": seal})


def decode(path: Path, what: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file of `what`; a truncated, damaged or foreign one is a clear error."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        text = metadata.get("farstep", "null")
        header = json.loads(text)
    except FileNotFoundError as error:
        raise FarstepError(f"there is no {what} at {path}.{nearby(path)}") from error
    except Exception as error:  # whatever a library raises on a damaged file
        named = path.suffix.lower() == _SUFFIX or path.is_dir()
        kind = "" if named else f" (it does not end in {_SUFFIX})"
        raise FarstepError(f"{path} is not a readable {what}{kind}: {one_line(error)}") from error
    if not isinstance(header, dict):
        raise FarstepError(f"{path} was not written by Farstep; it is no {what}.")
    if metadata.get("sha256") != _seal(digest(arrays), text):
        raise FarstepError(f"{path} is damaged: its contents are not those that were written.")
    return arrays, header


def _seal(numbers: str, text: str) -> str:
    return hashlib.sha256(f"{numbers} {text}".encode()).hexdigest()


@contextlib.contextmanager
def understood(path: Path, what: str) -> Iterator[None]:
    """Name the file in errors about its contents."""
    try:
        yield
    except _UNREADABLE as error:
        told = one_line(error) if isinstance(error, FarstepError) else repr(error)
        raise FarstepError(f"{path} is not a readable {what}: {told}") from error


def to_arrays(tree: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return a pytree's arrays by the path that leads to each."""
    import jax

    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {prefix + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def from_arrays(like: T, arrays: Mapping[str, np.ndarray], prefix: str = "") -> T:
    """Return a pytree shaped as `like` with the arrays that `to_arrays` gave."""

    # Not above: what only reads arrays, such as a policy, needs no JAX.
    import jax
    import jax.numpy as jnp

    def leaf(path: tuple, expected: Any) -> jax.Array:
        name = prefix + jax.tree_util.keystr(path)
        value = arrays.get(name)
        if value is None or value.shape != expected.shape or value.dtype != expected.dtype:
            found = "missing" if value is None else f"{value.dtype}{list(value.shape)}"
            raise FarstepError(
                f"array '{name}' should be {expected.dtype}{list(expected.shape)}, but is {found}."
            )
        return jnp.asarray(value)

    return jax.tree_util.tree_map_with_path(leaf, like)


def shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a pytree's arrays, by the path that leads to each."""
    import jax

    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): tuple(leaf.shape) for path, leaf in leaves}


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a SHA-256 of named arrays."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(f"{name}:{arrays[name].dtype}:{arrays[name].shape}".encode())
        found.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
    return found.hexdigest()
