"""Numbers as JSON can hold them."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from farstep.json_numbers import json_numbers


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
        (jnp.array([1.0, jnp.nan]), [1.0, None]),
    ],
)
def test_what_is_not_finite_is_none(values: object, expected: object):
    found = json_numbers(values)
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected
