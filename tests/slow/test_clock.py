"""A clock that jumps: results do not depend on it, and changed files are noticed."""

import dataclasses
import itertools
import os
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from farstep.data.dataset_files import write_dataset
from farstep.storage import tensors
from farstep.storage.run_directory import RunDirectory
from farstep.training.fit import fit
from farstep.workflows.runs import Run, Store
from tests import cart


class Stop(Exception):
    """Ends a fit."""


def test_a_clock_that_runs_backwards_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Back by a day at each look, and a checkpoint from the future."""
    data = cart.data(2), cart.data(1, seed=1)
    whole = fit(*data, **cart.TINY_FIT)
    days, save = itertools.count(), RunDirectory.save_checkpoint

    def stopping(self: RunDirectory, *arguments: Any, **named: Any) -> None:
        save(self, *arguments, **named)
        raise Stop

    monkeypatch.setattr(time, "time", lambda: 2e9 - 86_400.0 * next(days))
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(RunDirectory, "save_checkpoint", stopping)
        fit(*data, out=tmp_path, **cart.TINY_FIT)
    os.utime(tmp_path / "member-0.checkpoint.safetensors", (4e9, 4e9))
    resumed = fit(*data, out=tmp_path, **cart.TINY_FIT)
    assert len(resumed.record["curves"][0]["score"]) == cart.TINY_FIT["epochs"]
    one, other = (tensors.to_arrays(model.dynamics) for model in (whole, resumed))
    assert tensors.digest(one) == tensors.digest(other)
    assert len(list((tmp_path / "member-0").glob("events*"))) == 2


@dataclasses.dataclass(frozen=True)
class Counting(Run):
    """Reads a log."""

    log: str
    kind: ClassVar[str] = "counting"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.log,)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        del directory, store
        return {}


def test_other_data_are_noticed_though_the_file_has_the_same_time(tmp_path: Path):
    log, store = tmp_path / "log.npz", Store(tmp_path / "runs")
    run = Counting(str(log))
    for seed in (0, 1):
        write_dataset(cart.data(2, seed=seed), log, force=True)
        os.utime(log, (1e9, 1e9))
        assert store.result(run) is None
        store.run(run)
        assert store.result(run) == {}
