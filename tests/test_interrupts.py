"""Ctrl-C: the command ends at once, says so, and leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_command_and_its_workers(workers: int, tmp_path: Path):
    command = [sys.executable, "-m", "farstep", "collect", "cartpole-swingup"]
    options = ["--episodes", "100000", "--workers", str(workers), "--out", "x"]
    process = subprocess.Popen(
        [*command, *options], cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while workers > 1 and len(_children(process.pid)) < workers and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(4 if workers == 1 else 0.5)  # until it is past its imports
    children = _children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.decode().strip() == "farstep: stopped; what was finished before is kept."
    assert len(children) >= (workers if workers > 1 else 0)
    deadline = time.monotonic() + 60
    while any(map(_running, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_running, children))
    assert not (tmp_path / "x").exists()
