"""Ctrl-C: the command ends at once with one line, and leaves no processes and no partial files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from farstep.runtime.processes import STOPPED

POLICY = """
import os
from pathlib import Path
import numpy as np

def act(observations):
    Path(f"acting-{os.getpid()}").touch()
    return np.zeros(1)
"""
LISTENING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
COMPILED = """
import sys, time
import jax, jax.numpy as jnp
from farstep.runtime.processes import ctrl_c_ends_at_once
work = jax.jit(lambda x: jax.lax.fori_loop(0, 2**30, lambda i, y: jnp.sin(y) @ y, x))
with ctrl_c_ends_at_once():
    print("started", flush=True)
    work(jnp.ones((64, 64))).block_until_ready()
"""
linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except FileNotFoundError:
        return False


def _acting(folder: Path) -> int:
    return len(list(folder.glob("acting-*")))


def _wait_until(condition: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


@contextmanager
def _started(
    command: list[str], cwd: Path | None = None, own_session: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that hears Ctrl-C, also where the tests themselves do not."""
    with subprocess.Popen(
        [sys.executable, "-c", LISTENING, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        start_new_session=own_session,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@linux
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_command_and_its_workers(workers: int, tmp_path: Path):
    (tmp_path / "own.py").write_text(POLICY)
    command = [sys.executable, "-m", "farstep", "collect", "cartpole-swingup", "--policy"]
    options = ["own:act", "--episodes", "100000", "--workers", str(workers), "--out", "x"]
    with _started([*command, *options], cwd=tmp_path, own_session=True) as process:
        _wait_until(lambda: _acting(tmp_path) >= workers or process.poll() is not None)
        assert process.poll() is None, process.stderr and process.stderr.read()
        children = _children(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, printed = process.communicate(timeout=600)
    assert process.returncode == 130, printed
    assert printed.decode().strip() == STOPPED
    acted = [int(path.name.split("-")[1]) for path in tmp_path.glob("acting-*")]
    _wait_until(lambda: not any(map(_running, [*children, *acted])))
    left = {path.name for path in tmp_path.iterdir()} - {"own.py", "__pycache__", "x.collecting"}
    assert left == {f"acting-{pid}" for pid in acted}


def test_it_ends_a_compiled_program_even_if_nobody_reads_its_output():
    with _started([sys.executable, "-c", COMPILED]) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"started\n"
        time.sleep(1)
        process.stderr.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 130
        process.stdout.close()
