"""Files that are either as they were or complete."""

import os
from pathlib import Path

import pytest

from farstep.errors import FarstepError
from farstep.storage import files
from farstep.storage.files import BusyError, check_output, locked, nearby, publish, remove_parts


def test_a_file_and_a_directory_are_written_whole(tmp_path: Path):
    publish(tmp_path / "deep" / "file", {"": b"one"})
    publish(tmp_path / "folder", {"a/b": b"two", "c": b"three"})
    assert (tmp_path / "deep" / "file").read_bytes() == b"one"
    assert (tmp_path / "folder" / "a" / "b").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder"]


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("name", ["", "x"])
def test_what_exists_is_replaced_only_by_force(
    tmp_path: Path, name: str, exchange: bool, monkeypatch: pytest.MonkeyPatch
):
    if not exchange:  # as where the system cannot swap two directories
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    path = tmp_path / "target"
    publish(path, {name: b"old"})
    for again in (lambda: publish(path, {name: b"new"}), lambda: check_output(path)):
        with pytest.raises(FarstepError, match=r"target.*--force"):
            again()
    assert (path / name).read_bytes() == b"old"
    publish(path, {name: b"new"}, force=True)
    assert (path / name).read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_failed_rename_restores_the_old_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish(tmp_path / "folder", {"x": b"old"})
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(FarstepError, match="Input/output error"):
        publish(tmp_path / "folder", {"x": b"new"}, force=True)
    assert (tmp_path / "folder" / "x").read_bytes() == b"old"


def test_force_never_replaces_a_directory_with_other_files(tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    for contents in ({"data": b"x"}, {"": b"x"}):
        with pytest.raises(FarstepError, match=r"thesis\.txt"):
            publish(tmp_path / "home", contents, force=True)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_a_failed_write_leaves_the_old_one_and_no_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish(tmp_path / "folder", {"x": b"old"})

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(FarstepError, match="disk is full"):
        publish(tmp_path / "folder", {"x": b"new"}, force=True)
    assert (tmp_path / "folder" / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_output_is_checked_without_making_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    check_output(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(FarstepError, match="cannot write"):
            publish(path, {"": b"x"})

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr("tempfile.TemporaryFile", forbidden)
    with pytest.raises(FarstepError, match="permission denied"):
        check_output(tmp_path / "new")


def test_a_missing_path_may_be_a_misspelt_one(tmp_path: Path):
    (tmp_path / "auto").mkdir()
    assert str(tmp_path / "auto") in nearby(tmp_path / "autoo")
    assert nearby(tmp_path / "something") == nearby(tmp_path / "no" / "auto") == ""


def test_parts_of_killed_writes_are_removed_but_not_of_those_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".model.killed.part").mkdir()
    write = files._write

    def writing(path: Path, data: bytes) -> None:
        write(path, data)
        remove_parts(tmp_path)  # as another process would that works in the same directory

    monkeypatch.setattr(files, "_write", writing)
    publish(tmp_path / "model", {"": b"whole"})
    assert (tmp_path / "model").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_one_at_a_time_works_in_a_directory(tmp_path: Path):
    folder = tmp_path / "run"
    with locked(folder):
        with pytest.raises(BusyError), locked(folder, wait=False):
            pass
        (folder / "kept").write_text("")
    with locked(folder, wait=False):
        pass
    with pytest.raises(FarstepError, match="is a file"), locked(folder / "kept"):
        pass


def test_a_new_directory_without_files_is_removed_after_an_error(tmp_path: Path):
    with pytest.raises(KeyError), locked(tmp_path / "run"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
