"""A directory that is removed while it is in use."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any, ClassVar

import pytest

from farstep.models.model import load_model
from farstep.storage import tensors
from farstep.storage.run_directory import RunDirectory
from farstep.training.fit import fit
from farstep.workflows.runs import Run, Store
from tests import cart


def test_a_fit_whose_directory_is_removed_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save, out = RunDirectory.save_checkpoint, tmp_path / "model"

    def removing(self: RunDirectory, *arguments: Any, **named: Any) -> None:
        save(self, *arguments, **named)
        shutil.rmtree(out)

    monkeypatch.setattr(RunDirectory, "save_checkpoint", removing)
    found = fit(cart.data(2), cart.data(1, seed=1), out=out, **cart.TINY_FIT)
    stored = tensors.to_arrays(load_model(out).dynamics)
    assert tensors.digest(stored) == tensors.digest(tensors.to_arrays(found.dynamics))


@dataclasses.dataclass(frozen=True)
class Removing(Run):
    """Removes its own directory."""

    number: int = 1
    kind: ClassVar[str] = "removing"

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        del store
        shutil.rmtree(directory)
        return {"number": self.number}


def test_a_run_whose_directory_is_removed_is_stored(tmp_path: Path):
    store = Store(tmp_path)
    assert store.run(Removing()) == {"number": 1}
    assert store.result(Removing()) == {"number": 1}
