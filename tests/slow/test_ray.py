"""Runs on a real Ray cluster of several nodes on this machine, one of which is killed."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from farstep.errors import FarstepError
from farstep.training.config import fit_config
from farstep.workflows import ray_cluster
from farstep.workflows.ray_cluster import run_all_on_ray
from farstep.workflows.runs import Run, Store
from farstep.workflows.tune import TrialFit

pytest.importorskip("ray")
ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Slow(Run):
    """Takes a while, and leaves a mark when it starts."""

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

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        if self.number < 0:
            raise FarstepError("a number is negative.")
        mark = Path(self.marks) / f"{self.number}-{time.time_ns()}"
        mark.write_text(_node())
        while self.after and not (Path(self.marks).parent / "killed").exists():
            time.sleep(0.05)
        needed = [store.directory(one) / "number.txt" for one in self.after]
        total = self.number + sum(int(path.read_text()) for path in needed)
        (directory / "number.txt").write_text(str(total))
        return {"sum": total}


def _node() -> str:
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return "here"
    return ray.get_runtime_context().get_node_id()


LINEAR = TrialFit("cartpole-swingup/random", fit_config("paper", model="linear"), 2)


def runs_of(marks: Path) -> list[Slow]:
    first = Slow(1, str(marks))
    return [first, *(Slow(n, str(marks), (first,)) for n in range(2, 6))]


CLUSTER = """
import socket, sys, threading, time
from pathlib import Path
from ray.cluster_utils import Cluster
from test_ray import LINEAR, Slow, runs_of
from farstep.errors import FarstepError
from farstep.workflows.sweep import sweep

folder, marks = Path(sys.argv[1]), Path(sys.argv[2])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
head = {"num_cpus": 0, "include_dashboard": False, "ray_client_server_port": port}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
runs = runs_of(marks)

def kill():
    while True:  # until one has just started, after the first
        started = sorted(marks.iterdir(), key=lambda mark: mark.name.split("-")[1])
        if len(started) > 1 and started[-1].read_text():
            break
        time.sleep(0.05)
    busy = started[-1].read_text()
    (node,) = [one for one in nodes if one.node_id == busy]
    cluster.remove_node(node, allow_graceful=False)
    (marks.parent / "killed").touch()  # runs on that node had to wait for this
    print("killed a node", flush=True)

killer = threading.Thread(target=kill)
killer.start()
found = sweep([*runs, LINEAR], folder, ray=cluster.address)
killer.join()
print([found[run]["sum"] for run in runs], flush=True)
try:
    sweep([Slow(-1, str(marks))], folder, ray=cluster.address)
except FarstepError as error:
    print("error:", error, flush=True)
client = f"ray://127.0.0.1:{port}"
elsewhere = Slow(40, str(marks), (runs[0],))
print("from elsewhere:", sweep([elsewhere], folder, ray=client)[elsewhere])
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
    assert "error: a number is negative." in done.stdout
    assert "from elsewhere: {'sum': 41}" in done.stdout
    runs, started = runs_of(marks), len(list(marks.iterdir()))
    assert started > len(runs) + 1, "nothing ran on the killed node"
    remote, local = Store(folder), Store(tmp_path / "local")
    assert remote.missing([*runs, LINEAR]) == []
    for run in (*runs, LINEAR):
        assert remote.result(run) == local.run(run)
    for run in runs:
        copied, here_too = (store.directory(run) / "number.txt" for store in (remote, local))
        assert copied.read_bytes() == here_too.read_bytes()


def test_the_documented_cluster_is_one_that_ray_understands():
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(yaml.safe_load((ROOT / "examples" / "cluster.yaml").read_text()))
    validate_config(config)
    assert config["provider"]["type"] == "local"
    assert config["max_workers"] == len(config["provider"]["worker_ips"])


def _failing(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_errors_of_ray_become_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import ray
    from ray.exceptions import RayError

    monkeypatch.setattr(ray, "init", _failing(ConnectionError("nobody there\nsee the logs")))
    with pytest.raises(FarstepError, match=r"at auto: nobody there$"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])
    monkeypatch.setattr(ray, "init", _failing(ConnectionAbortedError("not started")))
    with pytest.raises(FarstepError, match=r"at auto: not started$"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])
    monkeypatch.setattr(ray, "init", lambda **_: None)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray_cluster, "follow", _failing(RayError("")))
    with pytest.raises(FarstepError, match="RayError"):
        run_all_on_ray([], Store(tmp_path), "auto", lambda _: [])


def test_an_aborted_connection_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
