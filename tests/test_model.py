"""Stored models: the same predictions to the bit, and clear errors for anything else."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from farstep.dynamics.contract import Dynamics, Gaussian
from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from farstep.model import Model, load_model
from farstep.signals import Signals
from pendulum import TINY, pendulum

KINDS = {
    "network": {},
    "likelihood": {"loss": "nll", "target": "delta", "angles": ((0, 1),), "bounds": 0.5},
    "direct": {"stride": 3},
    "ensemble": {"members": 2, "choice": "step"},
    "linear": {"model": "linear"},
}


def _model(kind: str) -> Model:
    return fit(pendulum(3), pendulum(1), **{**TINY, "epochs": 1, **KINDS[kind]})


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_predicts_the_same_to_the_bit(kind: str, tmp_path: Path):
    model = _model(kind)
    again = load_model(model.save(tmp_path / "model.safetensors"))
    rng = np.random.default_rng(0)
    states, actions = rng.normal(size=(5, 2)), rng.normal(size=(5, 6, 1))
    for propagation in ("mean", "sample"):
        for one, two in zip(
            model.rollout(states, actions, propagation, seed=1),
            again.rollout(states, actions, propagation, seed=1),
            strict=True,
        ):
            np.testing.assert_array_equal(one, two)
    assert again.signals == model.signals
    assert again.config == json.loads(json.dumps(dict(model.config)))
    assert again.record == model.record


def test_one_state_and_many_are_predicted_alike():
    model = _model("network")
    states, actions = np.random.default_rng(0).normal(size=(2, 3, 4, 2)), np.zeros((2, 3, 4, 1))
    mean, std = model.predict(states, actions)
    assert mean.shape == std.shape == (2, 3, 4, 2)
    np.testing.assert_allclose(
        model.predict(states[1, 2, 3], actions[1, 2, 3])[0], mean[1, 2, 3], rtol=1e-5
    )


@pytest.mark.parametrize(
    ("states", "actions", "said"),
    [
        (np.zeros(3), np.zeros((4, 1)), "do not fit"),
        (np.zeros(2), np.zeros((4, 2)), "do not fit"),
        (np.zeros((5, 2)), np.zeros((4, 6, 1)), "do not fit"),
        (np.zeros(2), np.zeros((0, 1)), "0 steps"),
        (np.zeros(2), np.zeros(1), "do not fit"),
    ],
)
def test_shapes_that_do_not_fit_are_said(states: np.ndarray, actions: np.ndarray, said: str):
    with pytest.raises(FarstepError, match=said):
        _model("linear").rollout(states, actions)


def test_every_truncation_and_any_change_is_a_clear_error(tmp_path: Path):
    path = _model("linear").save(tmp_path / "model.safetensors")
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(FarstepError, match="model"):
            load_model(path)
    rng = np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(whole)
        changed[rng.integers(len(whole) - 40, len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(changed))
        with pytest.raises(FarstepError, match="damaged"):
            load_model(path)


def test_foreign_files_are_refused(tmp_path: Path):
    with pytest.raises(FarstepError, match="there is no model at"):
        load_model(tmp_path / "none")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "checkpoint-0.safetensors").write_bytes(b"")
    with pytest.raises(FarstepError, match="the fit there is not finished"):
        load_model(tmp_path / "begun")
    (tmp_path / "text").write_text("hello, world")
    with pytest.raises(FarstepError, match="not a readable model"):
        load_model(tmp_path / "text")
    (tmp_path / "other").write_bytes(safetensors.numpy.save({"x": np.zeros(3)}))
    with pytest.raises(FarstepError, match="was not written by Farstep"):
        load_model(tmp_path / "other")


def test_only_farsteps_own_models_are_stored(tmp_path: Path):
    class Own(Dynamics):
        stride: int = 1

        def predict(self, state, action):
            del action
            return Gaussian(state, state)

    with pytest.raises(FarstepError, match="a Own cannot be stored"):
        Model(Own(), Signals.unnamed(1, 1)).save(tmp_path / "model")
