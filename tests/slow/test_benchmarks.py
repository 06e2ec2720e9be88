"""Benchmarks work at tiny sizes: all that need no environment with another library."""

import subprocess
import sys

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.harness import ROOT

_PEERS = {"fit_mbrl", "model_env_steps", "sac_speed"}


@pytest.mark.parametrize("name", sorted(set(NAMES) - _PEERS))
def test_benchmark_prints_its_table(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("| ")
    assert f"Command: `python -m benchmarks {name}`" in done.stdout


def test_unknown_benchmark_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "no_such"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no_such" in done.stderr and "fit_speed" in done.stderr
