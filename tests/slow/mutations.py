"""Random damage: of bytes, and of what is inside a file whose checksums are right."""

import json
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from farstep.storage import tensors

_VALUES = (
    None,
    True,
    -1,
    0,
    2**31,
    2**70,
    1e308,
    0.5,
    "",
    "x",
    [],
    {},
    [[]],
    {"a": 1},
    [None],
    [0],
)
"""Values that replace a part of a header."""
_SHAPES = ((), (0,), (1,), (2, 3), (0, 5), (4, 1, 1))


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one to four random changes."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        changed = _once(changed, rng)
    return bytes(changed)


def _once(data: bytearray, rng: np.random.Generator) -> bytearray:
    """Flip, set, overwrite, remove, insert, repeat, move or truncate."""
    if not data:
        return bytearray(rng.bytes(8))
    at, size = int(rng.integers(len(data))), int(2 ** rng.uniform(0, 8))
    part = data[at : at + size]
    match rng.integers(9):
        case 0:
            data[at] ^= 1 << int(rng.integers(8))
        case 1:
            data[at] = int(rng.integers(256))
        case 2:
            data[at : at + size] = rng.bytes(len(part))
        case 3:
            del data[at : at + size]
        case 4:
            data[at:at] = rng.bytes(size)
        case 5:
            data[at:at] = part
        case 6:
            to = int(rng.integers(len(data)))
            data[to : to + len(part)] = part
        case 7:
            # Counts and offsets of zero, or as large as possible.
            data[at : at + len(part[:8])] = bytes([255 * int(rng.integers(2))]) * len(part[:8])
        case 8:
            del data[at:]
    return data


def forged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a safetensors file of Farstep's with other contents, all checksums right."""
    arrays = safetensors.numpy.load(data)
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["farstep"])
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.3:
            _forge_array(arrays, rng)
        else:
            header = forged_json(header, rng)
    return tensors.encode(arrays, header if isinstance(header, dict) else {})


def _forge_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    if not arrays:
        return
    name = list(arrays)[rng.integers(len(arrays))]
    match rng.integers(4):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}x"] = arrays.pop(name)
        case 2:
            kinds = (np.float64, np.float16, np.int8, np.uint32, np.bool_)
            arrays[name] = np.zeros(arrays[name].shape, kinds[rng.integers(len(kinds))])
        case 3:
            arrays[name] = np.zeros(_SHAPES[rng.integers(len(_SHAPES))], arrays[name].dtype)


def forged_json(value: Any, rng: np.random.Generator) -> Any:
    """Return JSON with one part of it, at any depth, left out or replaced."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.2:
        return _VALUES[rng.integers(len(_VALUES))]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[rng.integers(len(keys))]
    if rng.random() < 0.2:
        rest = [k for k in keys if k != key]
        return {k: value[k] for k in rest} if isinstance(value, dict) else [value[k] for k in rest]
    new = forged_json(value[key], rng)
    if isinstance(value, dict):
        return {**value, key: new}
    return [new if k == key else value[k] for k in keys]
