"""Functions run in processes of their own, pinned to cores, with a set number of threads."""

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from farstep.runs.pool import ONE_THREAD

ROOT = Path(__file__).parents[1]
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


def start(
    call: str,
    cores: Sequence[int],
    python: str | Path = sys.executable,
    environment: dict[str, str] | None = None,
) -> "subprocess.Popen[str]":
    """Start `module:function(arguments)`, or a script; the result is JSON, in its last line."""
    words = call.split()
    if ":" in call:
        module, expression = call.split(":", 1)
        name = expression.split("(")[0]
        code = f"import json; from {module} import {name}; print(json.dumps({expression}))"
        words = ["-c", code]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(cores))  # of this thread, which the process inherits
    try:
        return subprocess.Popen(
            [str(python), *words],
            cwd=ROOT,
            env={**os.environ, **(ONE_THREAD if environment is None else environment)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.sched_setaffinity(0, before)


def run(call: str, python: str | Path = sys.executable) -> Any:
    """Return what a call gives, by itself on one core."""
    return result(start(call, CORES[-1:], python))


def run_all(calls: Sequence[str]) -> None:
    """Run some calls in turn on every core, each pinned to one, with one thread."""
    waiting = deque(calls)

    def on(core: int) -> None:
        while True:
            try:
                call = waiting.popleft()
            except IndexError:  # all are begun
                return
            try:
                result(start(call, [core]))
            except BaseException:
                waiting.clear()  # said as soon as the others have ended
                raise

    with ThreadPoolExecutor(len(CORES)) as pool:
        list(pool.map(on, CORES))


def result(process: "subprocess.Popen[str]") -> Any:
    """Wait for the process and return what it printed."""
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err[-2000:])
    return json.loads(out.strip().splitlines()[-1])
