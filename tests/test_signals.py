import json

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.signals import Signals


def test_unnamed_signals_have_plain_names_and_no_bounds():
    signals = Signals.unnamed(2, 1)
    assert signals.state_names == ("s0", "s1")
    assert signals.action_names == ("a0",)
    assert signals.action_low == (-np.inf,)
    assert signals.state_units == ("", "")


def test_json_keeps_everything_even_infinite_bounds():
    signals = Signals(("x",), ("u", "v"), ("m",), ("N", "A"), (-1.0, -np.inf), (np.inf, 2.5), 0.1)
    assert Signals.from_json(json.loads(json.dumps(signals.to_json()))) == signals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"state_names": ("x", "x"), "action_names": ("u",)}, "'x' names two columns"),
        ({"state_names": ("x",), "action_names": ("u",), "state_units": ("m", "s")}, "2 entries"),
        (
            {
                "state_names": ("x",),
                "action_names": ("u",),
                "action_low": (1.0,),
                "action_high": (0.0,),
            },
            r"\[1, 0\] of 'u' are empty",
        ),
        ({"state_names": ("x",), "action_names": ("u",), "interval": -1.0}, "interval must be"),
    ],
)
def test_contradictions_are_errors(arguments: dict, said: str):
    with pytest.raises(FarstepError, match=said):
        Signals(**arguments)


def test_bounds_forgive_rounding_but_nothing_more():
    signals = Signals(("x",), ("u",), action_low=(-1.0,), action_high=(1.0,))
    assert Signals(("x",), ("u",), action_low=(-1e-7,), action_high=(1e-7,)).outside_bounds(
        np.array([[5e-7]])
    )
    actions = np.array([[1.0], [np.float32(1.0) + np.float32(1.2e-7)], [1.001], [-1.001]])
    assert signals.outside_bounds(actions).ravel().tolist() == [False, False, True, True]
    np.testing.assert_array_equal(signals.clip(actions[2:]), [[1.0], [-1.0]])
