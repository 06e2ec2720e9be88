"""A small whole file of every format that Farstep reads, and how each is read."""

import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import jax
import numpy as np

from farstep.agents.config import AgentConfig
from farstep.agents.model_env_trainer import ModelEnvTrainer
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.errors import DataWarning
from farstep.model_env.model_env import ModelEnv
from farstep.models.model import Model, load_model
from farstep.storage import tensors
from farstep.storage.run_directory import RunDirectory, finished_runs
from farstep.systems.network_policy import NetworkPolicy, load_policy
from farstep.training import trainer as fitting
from farstep.training.config import PRESETS
from farstep.training.curve import Curve
from farstep.training.epoch import initial_state
from farstep.training.weights import Uniform
from tests.cart import CART, SIGNALS, data, model

_TINY = AgentConfig(steps=8, num_envs=2, batch_size=4, buffer_size=8, net_arch=(2,))
_FIT = dataclasses.replace(
    PRESETS["paper"], width=2, depth=1, batch_size=8, normalisation="none", epochs=1
)


@dataclasses.dataclass(frozen=True)
class Sample:
    """A file, and how it is read."""

    path: Path
    """The file that is damaged."""
    read: Callable[[], object]
    """Returns the contents as something that can be compared."""
    sealed: bool = True
    """Whether a checksum covers all of the file."""


def _episodes(name: str, sealed: bool = True) -> Callable[[Path], Sample]:
    def make(folder: Path) -> Sample:
        path = write_dataset(data(episodes=2, steps=4), folder / name)
        return _dataset(path, path, sealed)

    return make


def _dataset(damaged: Path, path: Path, sealed: bool) -> Sample:
    def read() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = read_dataset(path)
        return found.fingerprint, found.system, dict(found.metadata)

    return Sample(damaged, read, sealed)


def _minari(part: str, ours: bool = True) -> Callable[[Path], Sample]:
    def make(folder: Path) -> Sample:
        path = write_dataset(data(episodes=2, steps=4), folder / "data")
        if not ours:  # without the entry "farstep" it is another program's
            metadata = path / "data" / "metadata.json"
            entries = json.loads(metadata.read_text())
            metadata.write_text(json.dumps({k: v for k, v in entries.items() if k != "farstep"}))
        return _dataset(path / "data" / part, path, sealed=ours and part.endswith("hdf5"))

    return make


def _d4rl(folder: Path) -> Sample:
    """Write a file of another program, without a checksum."""
    rng, path = np.random.default_rng(0), folder / "data.hdf5"
    with h5py.File(path, "w") as file:
        for name, width in (("observations", 2), ("actions", 1), ("next_observations", 2)):
            file.create_dataset(name, data=rng.normal(size=(8, width)), compression="gzip")
        for name in ("terminals", "timeouts"):
            file.create_dataset(name, data=np.arange(8) == 7)
    return _dataset(path, path, sealed=False)


def _trainer() -> fitting.Trainer:
    return fitting.Trainer(data(), data(1), _FIT, Uniform())


def _model(folder: Path) -> Sample:
    dynamics = _trainer().new_member(jax.random.key(0))
    path = Model(dynamics, SIGNALS, "cart", dataclasses.asdict(_FIT)).save(
        folder / "model.safetensors"
    )

    def read() -> object:
        found = load_model(path)
        header = (found.signals, found.system, found.config, found.record, found.horizon)
        return tensors.digest(tensors.to_arrays(found.dynamics)), header

    return Sample(path, read)


def _policy(folder: Path) -> Sample:
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(2, 3)), np.zeros(3)), (rng.normal(size=(3, 1)), np.zeros(1))]
    policy = NetworkPolicy(layers, SIGNALS, "cart", record={"seed": 1})
    path = policy.save(folder / "policy.safetensors")

    def read() -> object:
        found = load_policy(path)
        form = (found.signals, found.system, found.activation, found.output, found.record)
        return found.predict(np.ones((3, 2))).tobytes(), form

    return Sample(path, read)


def _fit_checkpoint(folder: Path) -> Sample:
    trainer, run = _trainer(), RunDirectory(folder, "fit", _FIT)
    state = initial_state(trainer.new_member(jax.random.key(0)), 1, trainer.program)
    curve = Curve([[1.0]], [[1.0]], [[1.0]], [1.0], [1.0], [0.1])
    fitting._store(run, "member-0", fitting.Progress(state, state, curve, False))

    def read() -> object:
        found = fitting._stored(run, "member-0", state)
        parts = (tensors.digest(tensors.to_arrays(part)) for part in (found.state, found.best))
        return *parts, found.curve, found.finished

    return Sample(folder / "member-0.checkpoint.safetensors", read)


def _agent_checkpoint(folder: Path) -> Sample:
    trainer = ModelEnvTrainer(ModelEnv(model(), CART, data()), _TINY, 0)
    run = RunDirectory(folder, "agent", _TINY)
    trainer.begin(run)
    trainer.best = trainer.policy()
    trainer.save(run)

    def read() -> object:
        found = ModelEnvTrainer(trainer.env, _TINY, 0)
        found.begin(run)
        state = tensors.digest(tensors.to_arrays(found.state))
        return state, found.best.fingerprint, found.curve

    return Sample(folder / "run.checkpoint.safetensors", read)


def _run(name: str) -> Callable[[Path], Sample]:
    """Write a finished run; its JSON files have no checksum."""

    def make(folder: Path) -> Sample:
        path = folder / "run"
        with RunDirectory(path, "fit", _FIT, {"train": "0123"}).open() as run:
            run.finish({"score": 0.5, "epochs": [1, 2]})

        def read() -> object:
            with RunDirectory(path, "fit", _FIT, {"train": "0123"}).open() as again:
                return again.result(), finished_runs(folder)

        return Sample(path / name, read, sealed=False)

    return make


FORMATS: dict[str, Callable[[Path], Sample]] = {
    "model": _model,
    "policy": _policy,
    "fit checkpoint": _fit_checkpoint,
    "agent checkpoint": _agent_checkpoint,
    "run config": _run("config.json"),
    "run result": _run("result.json"),
    "npz": _episodes("data.npz"),
    "csv": _episodes("data.csv", sealed=False),
    "parquet": _episodes("data.parquet"),
    "minari data": _minari("main_data.hdf5"),
    "minari metadata": _minari("metadata.json"),
    "minari data of others": _minari("main_data.hdf5", ours=False),
    "minari metadata of others": _minari("metadata.json", ours=False),
    "hdf5 of others": _d4rl,
}
SAFETENSORS = ("model", "policy", "fit checkpoint", "agent checkpoint")
JSON = ("minari metadata", "run config", "run result")
"""Beginnings of the names of formats in JSON."""
