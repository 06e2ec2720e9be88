"""Fingerprints, and values as JSON can hold them."""

import dataclasses
import functools
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.storage.fingerprint import fingerprint_of, flat, json_numbers, plain, qualified_name


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 8
    sizes: tuple[int, ...] = (1, 2)
    place: Path = Path("here")


def test_the_fingerprint_depends_on_values_not_on_their_types_or_order():
    one = fingerprint_of(config=Config(np.int64(8)), data="abc")  # type: ignore[arg-type]
    assert one == fingerprint_of(data="abc", config=Config())
    assert one == fingerprint_of(data="abc", config=json.loads(json.dumps(plain(Config()))))
    assert one == fingerprint_of(data="abc", config={**vars(Config()), "sizes": np.array([1, 2])})
    others = [Config(width=9), Config(sizes=(2, 1)), Config(place=Path("there"))]
    found = {fingerprint_of(config=other, data="abc") for other in others}
    assert len(found | {one, fingerprint_of(config=Config(), data="abd")}) == 5


def test_what_json_cannot_hold_has_no_fingerprint():
    with pytest.raises(FarstepError, match="object"):
        fingerprint_of(config={"policy": object()})


def test_plain_values_are_those_that_json_gives_back():
    value = {"a": (1, np.float32(0.5)), 3: Config(), "b": [np.arange(2), None, True]}
    found = plain(value)
    assert found == json.loads(json.dumps(found))
    assert found["3"] == {"width": 8, "sizes": [1, 2], "place": "here"}
    assert flat({"fit": {"horizon": 4, "weights": "auto"}, "seed": 0}) == {
        "fit.horizon": 4,
        "fit.weights": "auto",
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (None, None),
        (3, 3.0),
        (np.float32(0.5), 0.5),
        (float("nan"), None),
        (np.array(-np.inf), None),
        ([1, [np.nan, 2]], [1.0, [None, 2.0]]),
        (np.array([[1.0, np.inf], [0.0, 2.0]]), [[1.0, None], [0.0, 2.0]]),
        (jnp.array(np.array([1.0, np.nan])), [1.0, None]),
    ],
)
def test_numbers_that_are_not_finite_become_none(values: object, expected: object):
    found = json_numbers(values)
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


def test_functions_and_objects_have_a_qualified_name():
    assert qualified_name(np.linalg.norm) == "numpy.linalg:norm"
    assert qualified_name(functools.partial(functools.partial(plain), 1)) == (
        "farstep.storage.fingerprint:plain"
    )
    assert qualified_name(Config()).endswith(":Config")
    assert qualified_name(Config).endswith(":Config")
