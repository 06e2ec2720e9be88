"""RunDirectory: a killed run continues, a finished one is read, another one is refused."""

import dataclasses
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.storage import files
from farstep.storage.files import BusyError
from farstep.storage.run_directory import (
    CONFIG_FILE,
    RESULT_FILE,
    RunDirectory,
    finished_runs,
    read_json,
    read_result,
    run_named,
)

DATA = {"train": "0123"}
OUTPUTS = {"model.safetensors": b"model"}


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 8
    dataset: str = "logs"


class Killed(BaseException):
    """Stands for a kill: nobody catches it."""


def directory(path: Path | None, width: int = 8, force: bool = False, **changes) -> RunDirectory:
    config = Config(width, **changes)
    return RunDirectory(path, "fit", config, DATA, outputs=list(OUTPUTS), force=force)


def work(run: RunDirectory, killed_at: int | None = None, steps: int = 3) -> int:
    """Count to `steps` with a checkpoint after each, and return how many were computed."""
    with run.open():
        if run.result() is not None:
            return 0
        arrays, header = run.checkpoint() or ({"sum": np.array(0)}, {"steps": 0})
        computed = 0
        for step in range(header["steps"], steps):
            arrays = {"sum": np.asarray(arrays["sum"] + step)}
            computed += 1
            run.save_checkpoint(arrays, {"steps": step + 1})
            if step + 1 == killed_at:
                raise Killed
        run.finish({"sum": int(arrays["sum"])}, OUTPUTS)
        return computed


def names(path: Path) -> set[str]:
    return {one.name for one in path.iterdir()}


def test_a_run_is_stored_once_and_read_later(tmp_path: Path):
    assert work(directory(tmp_path)) == 3
    assert names(tmp_path) - {".lock"} == {CONFIG_FILE, RESULT_FILE, *OUTPUTS}
    assert work(directory(tmp_path)) == 0
    assert directory(tmp_path).result() == {"sum": 3}
    stored, record = read_json(tmp_path / CONFIG_FILE), read_result(tmp_path)
    assert stored is not None
    assert record is not None
    assert stored["config"] == {"width": 8, "dataset": "logs"}
    assert stored["data"] == DATA
    assert stored["fingerprint"] == record["fingerprint"] == directory(None).fingerprint
    assert record["cpu_seconds"] >= 0
    assert {"machine", "versions"} <= record.keys()


def test_a_killed_run_continues_from_its_checkpoint(tmp_path: Path):
    with pytest.raises(Killed):
        work(directory(tmp_path), killed_at=2)
    assert directory(tmp_path).result() is None
    assert work(directory(tmp_path)) == 1
    assert directory(tmp_path).result() == {"sum": 3}
    record = read_result(tmp_path)
    assert record is not None
    assert record["cpu_seconds"] is None  # unknown, since the killed process took some of it
    assert not list(tmp_path.glob("*checkpoint*"))


def test_without_a_path_nothing_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert work(directory(None)) == 3
    assert directory(None).result() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("killed_at", [2, None])
def test_another_run_is_refused_unless_forced(tmp_path: Path, killed_at: int | None):
    if killed_at:
        with pytest.raises(Killed):
            work(directory(tmp_path), killed_at)
    else:
        work(directory(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FarstepError, match=r"width 8, dataset logs.*--force"):
        work(directory(tmp_path, width=9, dataset="others"))
    other = RunDirectory(tmp_path, "fit", Config(), {"train": "4567"})
    with pytest.raises(FarstepError, match=r"other data"):
        work(other)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert directory(tmp_path, width=9).result() is None
    assert work(directory(tmp_path, width=9, force=True)) == 3
    assert directory(tmp_path, width=9).result() == {"sum": 3}


def test_force_starts_over_and_removes_the_outputs_at_the_first_write(tmp_path: Path):
    work(directory(tmp_path))
    (tmp_path / "notes.txt").write_text("mine")
    run = directory(tmp_path, force=True)
    with run.open():
        assert run.result() is None
        assert run.checkpoint() is None
        assert {RESULT_FILE, *OUTPUTS} < names(tmp_path)  # nothing was written yet
        run.save_checkpoint({"sum": np.array(0)}, {"steps": 1})
        assert not {RESULT_FILE, *OUTPUTS} & names(tmp_path)
    assert work(directory(tmp_path)) == 2  # the forced run was killed and continues
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_directory_of_another_program_is_refused(tmp_path: Path):
    for content in ("[1]", '{"model": "bert"}'):
        (tmp_path / CONFIG_FILE).write_text(content)
        for force in (False, True):
            with pytest.raises(FarstepError, match=CONFIG_FILE):
                work(directory(tmp_path, force=force))
        assert (tmp_path / CONFIG_FILE).read_text() == content
    (tmp_path / CONFIG_FILE).write_text("{")
    with pytest.raises(FarstepError, match=CONFIG_FILE):
        work(directory(tmp_path))


def test_outputs_of_no_run_are_replaced_only_by_force(tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"mine")
    with pytest.raises(FarstepError, match=r"model\.safetensors.*--force"):
        work(directory(tmp_path))
    assert (tmp_path / "model.safetensors").read_bytes() == b"mine"
    assert work(directory(tmp_path, force=True)) == 3
    assert (tmp_path / "model.safetensors").read_bytes() == b"model"


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path):
    with pytest.raises(Killed):
        work(directory(tmp_path / "one"), killed_at=1)
    run = directory(tmp_path / "two", width=9)
    with run.open():
        run.save_config()
        shutil.copy(tmp_path / "one" / "run.checkpoint.safetensors", tmp_path / "two")
        with pytest.raises(FarstepError, match="another run"):
            run.checkpoint()


def test_a_kill_at_any_write_leaves_a_run_that_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two checkpoints, the output and the result: the result appears last."""
    swap = files._swap
    at = 0
    for at in range(20):
        path, writes = tmp_path / str(at), 0

        def killing(new: Path, to: Path, old: Path, at: int = at) -> None:
            nonlocal writes
            if writes == at:
                raise Killed
            writes += 1
            swap(new, to, old)

        with monkeypatch.context() as patch:
            patch.setattr(files, "_swap", killing)
            try:
                work(directory(path), steps=2)
                killed = False
            except Killed:
                killed = True
        if killed:
            assert not (path / RESULT_FILE).exists()
        assert work(directory(path), steps=2) == (max(0, min(2, 3 - at)) if killed else 0)
        assert directory(path).result() == {"sum": 1}
        assert (path / "model.safetensors").read_bytes() == b"model"
        assert not list(path.glob("*checkpoint*"))
        assert not list(path.glob(".*.part"))
        if not killed:
            break
    assert at == 5


def test_what_a_kill_after_the_result_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(RunDirectory, "remove_checkpoints", killed)
        work(directory(tmp_path))
    (tmp_path / ".result.json.killed.part").mkdir()
    assert (tmp_path / "run.checkpoint.safetensors").exists()
    assert work(directory(tmp_path)) == 0
    assert names(tmp_path) == {".lock", CONFIG_FILE, RESULT_FILE, *OUTPUTS}


def test_two_that_start_at_once_compute_once(tmp_path: Path):
    computed: list[int] = []
    with directory(tmp_path).open():
        with pytest.raises(BusyError), directory(tmp_path).open(wait=False):
            pass
        threads = [
            threading.Thread(target=lambda: computed.append(work(directory(tmp_path))))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join()
    assert sorted(computed) == [0, 3]


def test_a_directory_that_is_removed_under_a_run_is_made_again(tmp_path: Path):
    run = directory(tmp_path / "run")
    with run.open():
        run.save_checkpoint({"sum": np.array(0)}, {"steps": 1})
        shutil.rmtree(tmp_path / "run")
        run.finish({"sum": 1}, OUTPUTS)
    assert work(directory(tmp_path / "run")) == 0


def test_a_finished_run_is_read_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    work(directory(tmp_path))

    def read_only(*_: object, **__: object) -> None:
        raise FarstepError("read-only")

    monkeypatch.setattr("farstep.storage.run_directory.check_output", read_only)
    assert work(directory(tmp_path)) == 0
    with pytest.raises(FarstepError, match="read-only"):
        work(directory(tmp_path, force=True))


def test_finished_runs_are_found_by_their_names(tmp_path: Path):
    work(directory(tmp_path / "a"))
    work(directory(tmp_path / "deep" / "b", width=9))
    with pytest.raises(Killed):
        work(directory(tmp_path / "c"), killed_at=1)
    found = finished_runs(tmp_path)
    assert list(found) == ["a", "deep/b"]
    assert found["deep/b"]["config"]["width"] == 9
    assert run_named(tmp_path, "a")["result"] == {"sum": 3}
    with pytest.raises(FarstepError, match=r"'aa'.*'a'"):
        run_named(tmp_path, "aa")


def test_a_result_must_be_json(tmp_path: Path):
    run = directory(tmp_path)
    with run.open(), pytest.raises(ValueError, match="JSON"):
        run.finish({"loss": float("nan")})
    assert run.result() is None
