"""Functions that run in processes of their own, pinned to cores, with a set number of threads."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT
from farstep.workflows.worker_pool import ONE_THREAD

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


def start(
    call: str,
    cores: Sequence[int],
    python: str | Path = sys.executable,
    environment: Mapping[str, str] = ONE_THREAD,
) -> "subprocess.Popen[str]":
    """Start `module:function(arguments)`, whose result must be JSON."""
    module, expression = call.split(":", 1)
    function = expression.split("(")[0]
    code = f"import json; from {module} import {function}; print(json.dumps({expression}))"
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores))  # of this thread, which the process inherits
    try:
        return subprocess.Popen(
            [str(python), "-c", code],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.sched_setaffinity(0, before)


def result(process: "subprocess.Popen[str]") -> Any:
    """Wait for a process and return its result."""
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err[-2000:])
    return json.loads(out.strip().splitlines()[-1])


def run(call: str, python: str | Path = sys.executable) -> Any:
    """Return the result of a call that runs by itself on one core."""
    return result(start(call, CORES[-1:], python))


def in_turn(
    calls: Mapping[str, str], repeats: int, pythons: Mapping[str, Path] | None = None
) -> dict[str, list[Any]]:
    """Run some calls in turn, several times; return the results of each.

    Args:
        calls: The calls by name.
        repeats: How often to run each.
        pythons: The interpreter of some of them, by name.
    """
    found: dict[str, list[Any]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            found[name].append(run(call, (pythons or {}).get(name, Path(sys.executable))))
    return found


def peer(name: str, *installs: Sequence[str]) -> Path:
    """Return the interpreter of a peer's virtual environment, and install it first if it is new.

    Args:
        name: The environment is `.venv-NAME`.
        installs: The arguments of `pip install`, for each time it is called.
    """
    folder = ROOT / f".venv-{name}"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for arguments in installs:
            pip = [str(python), "-m", "pip", "install", "--quiet", *arguments]
            subprocess.run(pip, cwd=ROOT, check=True)
    return python
