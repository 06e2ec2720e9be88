"""A directory that is removed while it is in use."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.pendulum import TINY, pendulum

from farstep import tensors
from farstep.fitting.checkpoint import Checkpoint, Checkpoints
from farstep.fitting.fit import fit
from farstep.model import load_model
from farstep.runs.run import Run, Runs
from farstep.runs.store import Store


def test_a_fit_whose_directory_is_removed_ends_and_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write, out = Checkpoints.write, tmp_path / "model"

    def removing(self: Checkpoints, member: int, checkpoint: Checkpoint) -> None:
        write(self, member, checkpoint)
        shutil.rmtree(out)

    monkeypatch.setattr(Checkpoints, "write", removing)
    found = fit(pendulum(2), pendulum(1), out=out, **TINY)
    stored = tensors.to_arrays(load_model(out).dynamics)
    assert tensors.digest(stored) == tensors.digest(tensors.to_arrays(found.dynamics))


@dataclasses.dataclass(frozen=True)
class Removing(Run):
    """Removes its own directory."""

    kind: ClassVar[str] = "removing"

    @property
    def settings(self) -> dict[str, Any]:
        return {"number": 1}

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        del store
        shutil.rmtree(place)
        return {"number": 1}


def test_a_run_whose_directory_is_removed_is_recorded(tmp_path: Path):
    store = Store(tmp_path)
    assert store.run(Removing()) == {"number": 1}
    assert store.record(Removing()) is not None
