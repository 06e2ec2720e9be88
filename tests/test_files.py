from pathlib import Path

import pytest

from farstep import files
from farstep.datasets.reading import read
from farstep.errors import FarstepError
from farstep.files import check_output, nearby, publish, remove_parts
from farstep.model import load_model


def test_a_file_and_a_directory_are_written_whole(tmp_path: Path):
    publish(tmp_path / "deep" / "file", {"": b"one"})
    publish(tmp_path / "folder", {"a/b": b"two", "c": b"three"})
    assert (tmp_path / "deep" / "file").read_bytes() == b"one"
    assert (tmp_path / "folder" / "a" / "b").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder"]


def test_what_exists_is_replaced_only_by_force(tmp_path: Path):
    for path, contents in (
        (tmp_path / "file", {"": b"old"}),
        (tmp_path / "folder", {"x": b"old"}),
    ):
        publish(path, contents)
        new = dict.fromkeys(contents, b"new")
        with pytest.raises(FarstepError, match=r"exists already.*--force"):
            publish(path, new)
        with pytest.raises(FarstepError, match="exists already"):
            check_output(path)
        inside = path / "x" if path.is_dir() else path
        assert inside.read_bytes() == b"old"
        publish(path, new, force=True)
        assert inside.read_bytes() == b"new"


def test_a_directory_is_replaced_without_exchange_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    publish(tmp_path / "folder", {"x": b"old"})
    publish(tmp_path / "folder", {"x": b"new"}, force=True)
    assert (tmp_path / "folder" / "x").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_failed_rename_puts_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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


def test_force_never_replaces_a_directory_that_holds_other_things(tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    for contents in ({"data": b"x"}, {"": b"x"}):
        with pytest.raises(FarstepError, match=r"holds other things \(thesis.txt\)"):
            publish(tmp_path / "home", contents, force=True)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_checking_makes_no_directories(tmp_path: Path):
    check_output(tmp_path / "a" / "b" / "c")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_one_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish(tmp_path / "folder", {"x": b"old"})

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write", full)
    with pytest.raises(FarstepError, match="the disk is full"):
        publish(tmp_path / "folder", {"x": b"new"}, force=True)
    assert (tmp_path / "folder" / "x").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_path_below_a_file_cannot_be_written(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FarstepError, match="cannot write"):
        publish(tmp_path / "file" / "below", {"": b"x"})


def test_a_path_where_nothing_is_may_be_another(tmp_path: Path):
    (tmp_path / "auto").mkdir()
    assert nearby(tmp_path / "autoo") == f" Did you mean '{tmp_path / 'auto'}'?"
    assert nearby(tmp_path / "something") == nearby(tmp_path / "no" / "auto") == ""
    with pytest.raises(FarstepError, match=r"there is no model at .*autoo\. Did you mean '.*auto'"):
        load_model(tmp_path / "autoo")
    with pytest.raises(FarstepError, match="Did you mean 'cartpole-swingup/random'"):
        read("cartpole-swingup/rando")


def test_what_is_being_written_is_not_taken_for_what_a_killed_write_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    left = tmp_path / ".model.killed.part"
    left.mkdir()
    write = files._write

    def writing(path: Path, data: bytes) -> None:
        write(path, data)
        remove_parts(tmp_path)  # as another process would, which comes to the same folder

    monkeypatch.setattr(files, "_write", writing)
    publish(tmp_path / "model", {"": b"whole"})
    assert (tmp_path / "model").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
