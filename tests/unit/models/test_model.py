"""Models: predictions of many shapes, and files that restore them to the bit or not at all."""

import dataclasses
import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import cart
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError
from farstep.models.contract import Dynamics, Gaussian
from farstep.models.model import Model, load_model
from farstep.storage import tensors
from farstep.training.fit import fit

SETTINGS = {
    "nll": {"loss": "nll", "normalisation": "batch", "angles": ((0, 1),), "bounds": 0.5},
    "fixed horizon": {"fixed_horizon": 2, "horizon": 1, "target": "next"},
    "linear": {"model": "linear"},
}


def _model(kind: str, ensemble: Model) -> Model:
    if kind == "ensemble":
        dynamics = dataclasses.replace(ensemble.dynamics, ensemble_mode="step")
        return dataclasses.replace(ensemble, dynamics=dynamics)
    settings = {**cart.TINY_FIT, "epochs": 1, "batch_size": 38, **SETTINGS[kind]}
    return fit(cart.data(), cart.data(1, seed=1), settings, learn_reward=kind == "linear")


@pytest.mark.parametrize("kind", [*SETTINGS, "ensemble"])
def test_a_stored_model_is_restored_to_the_bit(kind: str, tiny_ensemble: Model, tmp_path: Path):
    model = _model(kind, tiny_ensemble)
    again = load_model(model.save(tmp_path / "model.safetensors"))
    ours, theirs = (tensors.to_arrays((one.dynamics, one.reward)) for one in (model, again))
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_array_equal(theirs[name], values)
    rng = np.random.default_rng(0)
    observations, actions = rng.uniform(-1, 1, (5, 2)), rng.uniform(-1, 1, (5, 6, 1))
    for one, two in zip(
        model.rollout(observations, actions, "sample", seed=1),
        again.rollout(observations, actions, "sample", seed=1),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    assert (again.signals, again.system) == (model.signals, model.system)
    assert again.config == json.loads(json.dumps(dict(model.config)))
    assert again.record == model.record
    assert again.horizon == model.horizon == {"fixed horizon": 1, "linear": 1}.get(kind, 2)


def test_one_observation_and_many_are_predicted_alike(tiny_model: Model):
    observations = np.random.default_rng(0).uniform(-1, 1, size=(2, 3, 4, 2))
    actions = np.zeros((2, 3, 4, 1))
    mean, std = tiny_model.predict(observations, actions)
    assert mean.shape == std.shape == (2, 3, 4, 2)
    one, _ = tiny_model.predict(observations[1, 2, 3], actions[1, 2, 3])
    np.testing.assert_allclose(one, mean[1, 2, 3], rtol=1e-5)


def test_a_rollout_is_the_exact_one_of_a_linear_system():
    data = cart.data(1, seed=3)
    mean, std = cart.model().rollout(data.observations[0], data.actions)
    np.testing.assert_allclose(mean, data.observations[1:], atol=1e-5)
    np.testing.assert_allclose(std, np.tile([[0.1, 0.2]], (20, 1)), rtol=1e-5)


def test_predictions_far_from_the_data_give_a_warning(tiny_model: Model):
    with pytest.warns(DataWarning, match=r"1 action\(s\) .* \(force\)"):
        tiny_model.predict(np.zeros(2), np.full(1, 1.5))
    with pytest.warns(DataWarning, match=r"1 observation\(s\) .* \(velocity\)"):
        tiny_model.predict(np.array([0.0, 100.0]), np.zeros(1))


@pytest.mark.parametrize(
    ("observations", "actions"),
    [
        (np.zeros(3), np.zeros((4, 1))),
        (np.zeros(2), np.zeros((4, 2))),
        (np.zeros((5, 2)), np.zeros((4, 6, 1))),
        (np.zeros(2), np.zeros((0, 1))),
        (np.zeros(2), np.zeros(1)),
        (np.full(2, np.nan), np.zeros((4, 1))),
    ],
)
def test_arrays_that_do_not_match_are_errors(observations: np.ndarray, actions: np.ndarray):
    with pytest.raises(FarstepError, match=r"observations|steps"):
        cart.model().rollout(observations, actions)


def test_an_unknown_propagation_is_an_error():
    with pytest.raises(FarstepError, match=r"propagation 'meen'.*'mean'"):
        # Past the type checks of the tests.
        inspect.unwrap(Model.rollout)(cart.model(), np.zeros(2), np.zeros((4, 1)), "meen")  # pyright: ignore[reportArgumentType]


def test_every_truncation_and_any_change_is_an_error(tmp_path: Path):
    path = cart.model().save(tmp_path / "model.safetensors")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(FarstepError, match="model"):
            load_model(path)
    for _ in range(200):
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(changed))
        with pytest.raises(FarstepError):
            load_model(path)


class _Malicious:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple:
        return Path.touch, (self.mark,)


def test_loading_never_runs_code(tmp_path: Path):
    path, mark = tmp_path / "model.safetensors", tmp_path / "mark"
    path.write_bytes(pickle.dumps(_Malicious(mark)))
    with pytest.raises(FarstepError, match="not a readable model"):
        load_model(path)
    assert not mark.exists()


def test_other_files_are_refused_by_name(tmp_path: Path):
    with pytest.raises(FarstepError, match="there is no model at"):
        load_model(tmp_path / "none")
    (tmp_path / "text").write_text("hello, world")
    with pytest.raises(FarstepError, match="not a readable model"):
        load_model(tmp_path / "text")
    (tmp_path / "other").write_bytes(safetensors.numpy.save({"x": np.zeros(3)}))
    with pytest.raises(FarstepError, match="other"):
        load_model(tmp_path / "other")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"kind": "fit"}')
    with pytest.raises(FarstepError, match="not finished"):
        load_model(tmp_path / "run")


def _rewritten(path: Path, header: dict) -> Path:
    """Replace parts of a model's header, and seal the file again."""
    arrays, old = tensors.decode(path, "model")
    path.write_bytes(tensors.encode(arrays, {**old, **header}))
    return path


@pytest.mark.parametrize(
    "header",
    [
        {"format": 1},
        {"dynamics": {"kind": "network"}},
        {"dynamics": {"kind": "linear", "observations": 3, "actions": 1}},
        {"dynamics": {"kind": "linear", "observations": "two", "actions": 1}},
        {"signals": None},
        {"config": 3},
    ],
)
def test_a_sealed_file_with_another_description_is_refused(header: dict, tmp_path: Path):
    path = cart.model().save(tmp_path / "model.safetensors")
    with pytest.raises(FarstepError, match="not a readable model"):
        load_model(_rewritten(path, header))


def test_a_file_that_asks_for_a_million_layers_is_refused(tiny_model: Model, tmp_path: Path):
    path = tiny_model.save(tmp_path / "model.safetensors")
    description = tensors.decode(path, "model")[1]["dynamics"]
    description["shape"]["depth"] = 10**6
    with pytest.raises(FarstepError, match="layers"):
        load_model(_rewritten(path, {"dynamics": description}))


def test_a_users_own_dynamics_are_not_stored(tmp_path: Path):
    class Own(Dynamics):
        fixed_horizon: int = 1

        def predict(self, state, action):
            del action
            return Gaussian(state, state)

    with pytest.raises(FarstepError, match="Own"):
        Model(Own(), Signals.unnamed(1, 1)).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
