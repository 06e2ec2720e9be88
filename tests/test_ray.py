"""Runs on a real Ray cluster of several nodes on this machine, one of which is killed."""

import dataclasses
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from farstep.errors import FarstepError
from farstep.fitting.config import fit_config
from farstep.runs import on_ray
from farstep.runs.on_ray import pack, run_all_on_ray, unpack
from farstep.runs.run import Run, Runs
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.store import Store
from farstep.runs.sweep import sweep

pytest.importorskip("ray")


@dataclasses.dataclass(frozen=True)
class Slow(Run):
    """Takes a while, and leaves a mark when it begins."""

    number: int
    marks: str
    after: tuple["Slow", ...] = ()

    kind: ClassVar[str] = "slow"

    @property
    def settings(self) -> dict[str, Any]:
        return {"number": self.number, "after": [one.number for one in self.after]}

    @property
    def needs(self) -> tuple[Run, ...]:
        return self.after

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        if self.number < 0:
            raise FarstepError("a number is negative.")
        mark = Path(self.marks) / f"{self.number}-{time.time_ns()}"
        mark.write_text(_node())
        while self.after and not (Path(self.marks).parent / "killed").exists():
            time.sleep(0.05)
        before = sum(int((store.place(one) / "number.txt").read_text()) for one in self.after)
        (place / "number.txt").write_text(str(self.number + before))
        return {"sum": self.number + before}


def _node() -> str:
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return "here"
    return ray.get_runtime_context().get_node_id()


FIT = ScoredFit("cartpole-swingup/random", fit_config("paper", model="linear"), 2)


def runs_of(marks: Path) -> list[Slow]:
    first = Slow(1, str(marks))
    return [first, *(Slow(n, str(marks), (first,)) for n in range(2, 6))]


CLUSTER = """
import socket, sys, threading, time
from pathlib import Path
from ray.cluster_utils import Cluster
from test_ray import FIT, Slow, runs_of
from farstep.errors import FarstepError
from farstep.runs.store import Store
from farstep.runs.sweep import sweep

folder, marks = Path(sys.argv[1]), Path(sys.argv[2])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
runs = runs_of(marks)

def kill():
    while True:  # until one has just begun, after the first
        begun = sorted(marks.iterdir(), key=lambda mark: mark.name.split("-")[1])
        if len(begun) > 1 and begun[-1].read_text():
            break
        time.sleep(0.05)
    busy = begun[-1].read_text()
    (node,) = [one for one in nodes if one.node_id == busy]
    cluster.remove_node(node, allow_graceful=False)
    (marks.parent / "killed").touch()  # what was at work there had to wait for this
    print("killed a node", flush=True)

killer = threading.Thread(target=kill)
killer.start()
found = sweep([*runs, FIT], Store(folder), ray=cluster.address)
killer.join()
print([found[run]["sum"] for run in runs], flush=True)
try:
    sweep([Slow(-1, str(marks))], Store(folder), ray=cluster.address)
except FarstepError as error:
    print("said:", error, flush=True)
elsewhere = Slow(40, str(marks), (runs[0],))
print("from elsewhere:", sweep([elsewhere], Store(folder), ray=f"ray://127.0.0.1:{port}")[elsewhere])
cluster.shutdown()
"""


def test_a_killed_node_loses_nothing_and_results_are_those_of_this_machine(tmp_path: Path):
    marks, folder = tmp_path / "marks", tmp_path / "ray"
    marks.mkdir()
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(folder), str(marks)],
        env={**os.environ, "PYTHONPATH": str(here), "RAY_memory_monitor_refresh_ms": "0"},
        cwd=here,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "killed a node" in done.stdout
    assert "[1, 3, 4, 5, 6]" in done.stdout
    assert "said: a number is negative." in done.stdout
    assert "from elsewhere: {'sum': 41}" in done.stdout
    runs, begun = runs_of(marks), len(list(marks.iterdir()))
    assert begun > len(runs), "the killed node was not at work"
    store = Store(folder)
    every = [*runs, FIT]
    assert store.missing(every) == []
    local = Store(tmp_path / "local")
    there, here_too = sweep(every, store), sweep(every, local, workers=2)
    assert [there[run] for run in every] == [here_too[run] for run in every]
    for run in runs:
        assert (store.place(run) / "number.txt").read_bytes() == (
            local.place(run) / "number.txt"
        ).read_bytes()


def test_files_come_back_whole(tmp_path: Path):
    place = tmp_path / "run"
    (place / "model").mkdir(parents=True)
    (place / "model" / "weights").write_bytes(b"\x00\x01")
    (place / "run.json").write_text("{}")
    (place / ".lock").touch()
    (place / "model" / ".weights.1.part").mkdir()
    (place / "model" / ".weights.1.part" / "new").write_bytes(b"\x00")
    unpack(pack(place), tmp_path / "copy")
    assert (tmp_path / "copy" / "model" / "weights").read_bytes() == b"\x00\x01"
    assert (tmp_path / "copy" / "run.json").read_text() == "{}"
    assert not list((tmp_path / "copy").rglob("new"))


def test_files_that_cannot_be_written_are_not_cut(tmp_path: Path):
    place, copy = tmp_path / "run", tmp_path / "copy"
    place.mkdir()
    (place / "weights").write_bytes(os.urandom(4_000_000))
    (place / "run.json").write_text("{}")
    packed = pack(place)
    copy.mkdir()
    (copy / "weights").write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    try:
        with pytest.raises(FarstepError, match=r"cannot write .*weights: the file would be larger"):
            unpack(packed, copy)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (copy / "weights").read_bytes() == b"old"
    assert sorted(path.name for path in copy.iterdir()) == [".lock", "weights"]


def test_the_documented_cluster_is_one_that_ray_understands():
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[1] / "examples" / "cluster.yaml"
    config = prepare_config(yaml.safe_load(path.read_text()))
    validate_config(config)
    assert config["provider"]["type"] == "local"
    assert config["max_workers"] == len(config["provider"]["worker_ips"])


def test_no_cluster_is_one_line(tmp_path: Path):
    with pytest.raises(FarstepError, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        sweep(runs_of(tmp_path), Store(tmp_path / "runs"), ray="127.0.0.1:1")


def test_what_ray_says_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import ray
    from ray.exceptions import RayError

    def failing(error: Exception) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise error

        return fail

    monkeypatch.setattr(ray, "init", failing(ConnectionError("nobody there\nsee the logs")))
    with pytest.raises(FarstepError, match=r"there is no Ray cluster at auto: nobody there$"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])
    aborted = ConnectionAbortedError("Starting Ray client server failed")
    monkeypatch.setattr(ray, "init", failing(aborted))
    with pytest.raises(FarstepError, match=r"at auto: Starting Ray client server failed$"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(on_ray, "follow", failing(RayError("")))
    with pytest.raises(FarstepError, match="the Ray cluster failed: RayError What was finished"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])


def test_a_connection_that_the_cluster_ends_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import ray

    answers = iter([ConnectionAbortedError("busy"), ConnectionAbortedError("busy"), None])

    def answer(**_: object) -> None:
        error = next(answers)
        if error is not None:
            raise error

    monkeypatch.setattr(ray, "init", answer)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])
    assert next(answers, "all were used") == "all were used"
