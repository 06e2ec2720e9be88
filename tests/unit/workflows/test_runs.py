"""Runs and stores: computed once, found again, and computed anew for other settings or data."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import pytest

import cart
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.storage.files import BusyError, locked
from farstep.storage.run_directory import finished_runs
from farstep.workflows.runs import Run, Store
from farstep.workflows.sweep import to_compute
from square import Square


@dataclasses.dataclass(frozen=True)
class Steps(Run):
    """A run that reads a dataset."""

    data: str

    kind: ClassVar[str] = "steps"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.data,)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        del directory, store
        return {"steps": read_dataset(self.data).num_steps}


def test_a_run_is_computed_once_and_its_files_say_how(tmp_path: Path):
    store, run = Store(tmp_path), Square(3)
    assert store.result(run) is None
    assert store.run(run) == store.run(Square(3)) == store.result(run)
    assert store.run(run)["square"] == 9
    assert (store.directory(run) / "starts").read_text() == "."
    ((name, stored),) = finished_runs(tmp_path).items()
    assert name == store.directory(run).name
    assert (stored["kind"], stored["config"]) == ("square", {"number": 3, "after": []})
    assert {"farstep", "jax"} <= stored["versions"].keys()
    assert stored["cpu_seconds"] >= 0 and "cores" in stored["machine"]


def test_a_directory_has_the_same_name_on_every_machine(tmp_path: Path):
    assert Store(tmp_path).directory(Square(3)).name == "square-8aed2c0e1f5c1172"
    assert Store(tmp_path).directory(Square(3)) != Store(tmp_path).directory(Square(4))


def test_a_run_computes_those_that_it_needs(tmp_path: Path):
    first = Square(2)
    store, run = Store(tmp_path), Square(5, after=(first,))
    assert store.run(run)["square"] == 29
    assert store.result(first) is not None
    assert store.missing([run, Square(9), Square(9)]) == [Square(9)]


def test_other_data_make_another_run(tmp_path: Path):
    path, store = tmp_path / "log.npz", Store(tmp_path / "runs")
    write_dataset(cart.data(1), path)
    assert store.run(Steps(str(path))) == {"steps": 20}
    write_dataset(cart.data(2), path, force=True)
    assert store.result(Steps(str(path))) is None
    assert store.run(Steps(str(path))) == {"steps": 40}
    assert len(finished_runs(tmp_path / "runs")) == 2


def test_a_run_of_another_process_is_waited_for_or_refused(tmp_path: Path):
    store = Store(tmp_path)
    with locked(store.directory(Square(3))), pytest.raises(BusyError):
        store.run(Square(3), wait=False)
    assert store.run(Square(3), wait=False)["square"] == 9


def test_the_longest_runs_start_first_with_those_that_wait_for_them(tmp_path: Path):
    short, other, long = Square(1), Square(30), Square(40)
    last = Square(50, after=(short,))
    assert to_compute([other, last, long], tmp_path) == [short, last, long, other]
    equal = [Square(7, times_killed=n) for n in range(3)]
    assert to_compute(equal, tmp_path) == equal  # in their given order
    Store(tmp_path).run(short)
    assert to_compute([last, short], tmp_path) == [last]
