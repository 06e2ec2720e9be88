"""Directories of runs that travel to and from a cluster, and clusters that do not answer."""

import os
import resource
from pathlib import Path

import pytest

from farstep.errors import FarstepError
from farstep.workflows.ray_cluster import computed, pack, unpack
from farstep.workflows.runs import Store
from farstep.workflows.sweep import sweep
from square import Square


def test_files_arrive_complete_and_without_temporary_ones(tmp_path: Path):
    directory = tmp_path / "run"
    (directory / "model").mkdir(parents=True)
    (directory / "model" / "weights").write_bytes(b"\x00\x01")
    (directory / "result.json").write_text("{}")
    (directory / ".lock").touch()
    (directory / "model" / ".weights.1.part").mkdir()
    (directory / "model" / ".weights.1.part" / "new").write_bytes(b"\x00")
    unpack(pack(directory), tmp_path / "copy")
    files = {p.relative_to(tmp_path / "copy") for p in (tmp_path / "copy").rglob("*")}
    assert files == {Path(name) for name in (".lock", "result.json", "model", "model/weights")}
    assert (tmp_path / "copy" / "model" / "weights").read_bytes() == b"\x00\x01"


def test_files_that_cannot_be_written_leave_the_old_ones_and_no_result(tmp_path: Path):
    directory, copy = tmp_path / "run", tmp_path / "copy"
    directory.mkdir()
    (directory / "weights").write_bytes(os.urandom(4_000_000))
    (directory / "result.json").write_text("{}")
    packed = pack(directory)
    copy.mkdir()
    (copy / "weights").write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    try:
        with pytest.raises(FarstepError, match="weights"):
            unpack(packed, copy)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (copy / "weights").read_bytes() == b"old"
    assert sorted(path.name for path in copy.iterdir()) == [".lock", "weights"]


def test_a_node_computes_a_run_from_the_files_of_those_that_it_needs(tmp_path: Path):
    store, first = Store(tmp_path), Square(2)
    store.run(first)
    run, name = Square(5, after=(first,)), store.directory(first).name
    files = computed(run, store.directory(run).name, [name], pack(store.directory(first)))
    unpack(files, store.directory(run))
    assert store.run(run)["square"] == 29
    assert (store.directory(first) / "starts").read_text() == "."
    with pytest.raises(FarstepError, match="other data"):
        computed(run, "square-of-other-data", [])


def test_no_cluster_is_an_error_before_anything_is_computed(tmp_path: Path):
    pytest.importorskip("ray")
    with pytest.raises(FarstepError, match=r"127\.0\.0\.1:1"):
        sweep([Square(3)], tmp_path / "runs", ray="127.0.0.1:1")
    assert not (tmp_path / "runs").exists()
