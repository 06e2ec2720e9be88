"""Safetensors files: exact, checked, and never code."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from farstep.errors import FarstepError
from farstep.storage import tensors

ARRAYS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "a": np.array(True),
    "empty": np.zeros((0, 2)),
}
HEADER = {"name": "θ", "list": [1, None, {"a": 0.5}]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with arrays and a header."""
    path = tmp_path / "file.safetensors"
    path.write_bytes(tensors.encode(ARRAYS, HEADER))
    return path


def test_arrays_and_header_are_read_as_they_were(path: Path):
    arrays, header = tensors.decode(path, "model")
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], value)
        assert arrays[name].dtype == value.dtype
    assert tensors.digest(arrays) == tensors.digest(dict(reversed(ARRAYS.items())))
    assert tensors.digest({**ARRAYS, "a": np.array(False)}) != tensors.digest(ARRAYS)


def test_files_that_are_not_ours_or_not_whole_are_refused(path: Path, tmp_path: Path):
    whole = path.read_bytes()
    with pytest.raises(FarstepError, match=r"file\.safetensor"):
        tensors.decode(tmp_path / "fil.safetensors", "model")
    for content in (whole[:-1], whole[:20], b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(FarstepError, match=r"file\.safetensors"):
            tensors.decode(path, "model")
    for changed in (whole.replace(b'\\"a\\": 0.5', b'\\"a\\": 0.6'), whole[:-1] + b"\x00"):
        assert changed != whole
        path.write_bytes(changed)
        with pytest.raises(FarstepError, match="damaged"):
            tensors.decode(path, "model")
    path.write_bytes(safetensors.numpy.save(ARRAYS))
    with pytest.raises(FarstepError, match="not written by Farstep"):
        tensors.decode(path, "model")
    path.write_bytes(safetensors.numpy.save(ARRAYS, metadata={"farstep": "{}"}))
    with pytest.raises(FarstepError, match="damaged"):
        tensors.decode(path, "model")


def test_a_pytree_needs_every_array_in_its_shape_and_type():
    tree = {"weight": jnp.asarray(np.ones((2, 3), np.float32)), "steps": (jnp.asarray(4),)}
    arrays = tensors.to_arrays(tree, "state")
    found = tensors.from_arrays(tree, arrays, "state")
    np.testing.assert_array_equal(found["weight"], tree["weight"])
    assert found["steps"][0] == 4
    (weight,) = (name for name in arrays if "weight" in name)
    rest = {name: value for name, value in arrays.items() if name != weight}
    for wrong in (rest, {**arrays, weight: np.ones((3, 2), np.float32)},
                  {**arrays, weight: np.ones((2, 3))}):  # fmt: skip
        with pytest.raises(FarstepError, match="weight"):
            tensors.from_arrays(tree, wrong, "state")
    with (
        pytest.raises(FarstepError, match=r"here is not a readable model.*'x'"),
        tensors.understood(Path("here"), "model"),
    ):
        raise KeyError("x")
