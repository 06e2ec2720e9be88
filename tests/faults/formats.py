"""A small whole file of every format that Farstep reads, and how each is read."""

import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import jax
import numpy as np
from tests.cart import CART, SIGNALS, data, model

from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.files import AgentFiles
from farstep.agents.imagined import ImaginedTraining
from farstep.datasets.reading import read, write
from farstep.errors import DataWarning
from farstep.fitting.checkpoint import Checkpoint, Checkpoints
from farstep.fitting.config import PAPER
from farstep.fitting.curve import Curve
from farstep.fitting.fit import FitRun
from farstep.fitting.training import initial_state
from farstep.imagination.imagine import imagine
from farstep.model import Model, load_model
from farstep.policy import Policy, load_policy
from farstep.weights import Uniform

_TINY = AgentConfig(steps=8, num_envs=2, batch_size=4, buffer_size=8, net_arch=(2,))


@dataclasses.dataclass(frozen=True)
class Sample:
    """A file, and what reading it gives as something that can be compared."""

    path: Path
    """What is damaged."""
    read: Callable[[], object]
    sealed: bool = True
    """Whether what was written can be told from everything else, by a checksum."""


def _episodes(name: str, sealed: bool = True) -> Callable[[Path], Sample]:
    def make(folder: Path) -> Sample:
        place = write(data(episodes=2, steps=4), folder / name)
        return _dataset(place, place, sealed)

    return make


def _dataset(damaged: Path, place: Path, sealed: bool) -> Sample:
    def told() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = read(place)
        return found.fingerprint, found.system, dict(found.metadata)

    return Sample(damaged, told, sealed)


def _minari(part: str, ours: bool = True) -> Callable[[Path], Sample]:
    def make(folder: Path) -> Sample:
        place = write(data(episodes=2, steps=4), folder / "data")
        if not ours:
            metadata = place / "data" / "metadata.json"
            told = json.loads(metadata.read_text())
            metadata.write_text(json.dumps({k: v for k, v in told.items() if k != "farstep"}))
        # Without the word "farstep" in its metadata it is another tool's.
        return _dataset(place / "data" / part, place, sealed=ours and part.endswith("hdf5"))

    return make


def _d4rl(folder: Path) -> Sample:
    """What other tools write; there is no checksum in it or beside it."""
    rng, path = np.random.default_rng(0), folder / "data.hdf5"
    with h5py.File(path, "w") as file:
        for name, width in (("observations", 2), ("actions", 1), ("next_observations", 2)):
            file.create_dataset(name, data=rng.normal(size=(8, width)), compression="gzip")
        for name in ("terminals", "timeouts"):
            file.create_dataset(name, data=np.arange(8) == 7)
    return _dataset(path, path, sealed=False)


def _model(folder: Path) -> Sample:
    run = _fit_run()
    fitted = Model(run._created(jax.random.key(0), 0), SIGNALS, "cart", dataclasses.asdict(_FIT))
    path = fitted.save(folder / "model.safetensors")

    def told() -> object:
        found = load_model(path)
        header = (found.signals, found.system, found.config, found.record, found.horizon)
        return tensors.digest(tensors.to_arrays(found.dynamics)), header

    return Sample(path, told)


def _policy(folder: Path) -> Sample:
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(2, 3)), np.zeros(3)), (rng.normal(size=(3, 1)), np.zeros(1))]
    path = Policy(layers, SIGNALS, "cart", record={"seed": 1}).save(folder / "policy.safetensors")

    def told() -> object:
        found = load_policy(path)
        form = (found.signals, found.system, found.activation, found.output, found.record)
        return found(np.ones((3, 2))).tobytes(), form

    return Sample(path, told)


_FIT = dataclasses.replace(PAPER, width=2, depth=1, batch=8, normalisation="none", epochs=1)


def _fit_run() -> FitRun:
    return FitRun(data(), data(1), _FIT, Uniform())


def _checkpoint(folder: Path) -> Sample:
    run, files = _fit_run(), Checkpoints(folder, "identity")
    state = initial_state(run._created(jax.random.key(0), 0), 1, run.recipe)
    files.write(
        0, Checkpoint(state, state, Curve([[1.0]], [[1.0]], [[1.0]], [1.0], [1.0], [0.1]), False)
    )

    def told() -> object:
        found = files.read(0, state)
        assert found is not None
        parts = (tensors.digest(tensors.to_arrays(part)) for part in (found.state, found.best))
        return *parts, found.curve, found.finished

    return Sample(folder / "checkpoint-0.safetensors", told)


def _agent_checkpoint(folder: Path) -> Sample:
    training = ImaginedTraining(imagine(model(), CART, data()), _TINY, 0)
    files = AgentFiles(folder, "identity")
    files.write(training._new())
    like = jax.eval_shape(training.first)

    def told() -> object:
        files.check()
        found = files.read(like)
        assert found is not None
        parts = (tensors.digest(tensors.to_arrays(part)) for part in (found.state, found.best))
        return *parts, found.curve

    return Sample(folder / "checkpoint.safetensors", told)


FORMATS: dict[str, Callable[[Path], Sample]] = {
    "model": _model,
    "policy": _policy,
    "fit checkpoint": _checkpoint,
    "agent checkpoint": _agent_checkpoint,
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
