"""A clock that jumps: results do not depend on it, and changed files are noticed."""

import dataclasses
import itertools
import os
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.pendulum import TINY, pendulum

from farstep import tensors
from farstep.datasets.reading import write
from farstep.fitting.checkpoint import Checkpoint, Checkpoints
from farstep.fitting.fit import fit
from farstep.runs.run import Run, Runs
from farstep.runs.store import Store


class Stop(Exception):
    """Ends a fit."""


def test_a_clock_that_runs_backwards_changes_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Back by a day at each look, and a checkpoint from the future."""
    data = pendulum(2), pendulum(1)
    whole = fit(*data, **TINY)
    days, store = itertools.count(), Checkpoints.write

    def stopping(self: Checkpoints, member: int, checkpoint: Checkpoint) -> None:
        store(self, member, checkpoint)
        raise Stop

    monkeypatch.setattr(time, "time", lambda: 2e9 - 86_400.0 * next(days))
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(Checkpoints, "write", stopping)
        fit(*data, out=tmp_path, **TINY)
    os.utime(tmp_path / "checkpoint-0.safetensors", (4e9, 4e9))
    resumed = fit(*data, out=tmp_path, **TINY)
    assert len(resumed.record["curves"][0]["score"]) == TINY["epochs"]
    one, other = (tensors.to_arrays(model.dynamics) for model in (whole, resumed))
    assert tensors.digest(one) == tensors.digest(other)
    assert len(list((tmp_path / "member-0").glob("events*"))) == 2


@dataclasses.dataclass(frozen=True)
class Counting(Run):
    """Reads a log."""

    log: str
    kind: ClassVar[str] = "counting"

    @property
    def settings(self) -> dict[str, Any]:
        return {"log": self.log}

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.log,)

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        del place, store
        return {}


def test_other_data_are_noticed_though_the_file_bears_the_same_time(tmp_path: Path):
    log, store = tmp_path / "log.npz", Store(tmp_path / "runs")
    run = Counting(str(log))
    for seed in (0, 1):
        write(pendulum(2, seed=seed), log, force=True)
        os.utime(log, (1e9, 1e9))
        assert store.record(run) is None
        store.run(run)
        assert store.record(run) is not None
