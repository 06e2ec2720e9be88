"""Functions run in processes of their own, pinned to cores, with a set number of threads."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
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
    """Start `module:function(arguments)`; it prints its result as JSON in its last line."""
    module, expression = call.split(":", 1)
    name = expression.split("(")[0]
    code = f"import json; from {module} import {name}; print(json.dumps({expression}))"
    return subprocess.Popen(
        [str(python), "-c", code],
        cwd=ROOT,
        env={**os.environ, **(ONE_THREAD if environment is None else environment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, set(cores)),
    )


def run_all(calls: Sequence[str]) -> None:
    """Run some calls in turn on every core, each pinned to one, with one thread."""
    waiting, running = list(calls), {}
    while waiting or running:
        for core in CORES:
            if core not in running and waiting:
                running[core] = start(waiting.pop(0), [core])
        for core, process in list(running.items()):
            if process.poll() is not None:
                result(running.pop(core))
        time.sleep(0.2)


def result(process: "subprocess.Popen[str]") -> Any:
    """Wait for the process and return what it printed."""
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(err[-2000:])
    return json.loads(out.strip().splitlines()[-1])
