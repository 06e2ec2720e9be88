"""Signals: names, units and bounds."""

import json

import numpy as np
import pytest

from farstep.data.signals import Signals
from farstep.errors import FarstepError


def test_unnamed_signals_have_plain_names_and_no_bounds():
    signals = Signals.unnamed(2, 1)
    assert signals.observation_names == ("s0", "s1")
    assert signals.action_names == ("a0",)
    assert signals.action_low == (-np.inf,)
    assert signals.observation_units == ("", "")


def test_json_keeps_everything_even_infinite_bounds():
    signals = Signals(("x",), ("u", "v"), ("m",), ("N", "A"), (-1.0, -np.inf), (np.inf, 2.5), 0.1)
    assert Signals.from_json(json.loads(json.dumps(signals.to_json()))) == signals
    assert signals.observation_labels == ["x [m]"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"observation_names": ("x", "x")}, "'x'"),
        ({"observation_units": ("m", "s")}, "observation_units"),
        ({"action_low": (1.0,), "action_high": (0.0,)}, r"\[1, 0\] of 'u'"),
        ({"interval": -1.0}, "interval"),
    ],
)
def test_contradictions_are_errors(changes: dict, name: str):
    with pytest.raises(FarstepError, match=name):
        Signals(**{"observation_names": ("x",), "action_names": ("u",), **changes})


def test_bounds_tolerate_rounding_only():
    signals = Signals(("x",), ("u",), action_low=(-1.0,), action_high=(1.0,))
    tiny = Signals(("x",), ("u",), action_low=(-1e-7,), action_high=(1e-7,))
    assert tiny.outside_bounds(np.array([[5e-7]])).all()
    actions = np.array([[1.0], [np.float32(1.0) + np.float32(1.2e-7)], [1.001], [-1.001]])
    assert signals.outside_bounds(actions).ravel().tolist() == [False, False, True, True]
    np.testing.assert_array_equal(signals.clip(actions[2:]), [[1.0], [-1.0]])


def test_signals_are_compared_by_names_known_units_and_interval():
    ours = Signals(("x",), ("u",), ("m",), interval=0.1)
    theirs = Signals(("x",), ("u",), ("mm",), interval=0.2)
    assert ours.same_names(theirs)
    assert not ours.same_names(Signals(("y",), ("u",)))
    with pytest.raises(FarstepError, match=r"'x'.*mm"):
        ours.check_units(theirs, "the model", "the data")
    ours.check_units(Signals(("x",), ("u",)), "the model", "the data")  # unknown units fit all
    assert not ours.same_interval(theirs)
    assert ours.same_interval(Signals(("x",), ("u",), interval=0.1001))
    assert ours.same_interval(Signals(("x",), ("u",)))
