"""Named arrays and a JSON header in one safetensors file: loading it cannot run code."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy

from farstep.errors import FarstepError, one_line

T = TypeVar("T")


def encode(arrays: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> bytes:
    """Return the file's bytes; the header keeps a SHA-256 of the arrays."""
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    text = json.dumps({**header, "sha256": digest(ordered)}, allow_nan=False)
    return safetensors.numpy.save(ordered, metadata={"farstep": text})


def decode(path: Path, what: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file of `what`; a truncated, damaged or foreign one is a clear error."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get("farstep")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(text) if text is not None else None
    except FileNotFoundError as error:
        raise FarstepError(f"there is no {what} at {path}.") from error
    except (OSError, ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise FarstepError(f"{path} is not a readable {what}: {one_line(error)}") from error
    if not isinstance(header, dict):
        raise FarstepError(f"{path} was not written by Farstep; it is no {what}.")
    if header.pop("sha256", None) != digest(arrays):
        raise FarstepError(f"{path} is damaged: its numbers are not those that were written.")
    return arrays, header


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
