"""Processes that are killed; `python -m tests.slow.kill` does it more often."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_work_that_is_killed_at_random_moments_has_a_bit_identical_result(tmp_path: Path):
    counts = tmp_path / "kills.json"
    command = [sys.executable, "-m", "tests.slow.kill", "--json", str(counts)]
    others = {n: value for n, value in os.environ.items() if not n.startswith(("JAX_", "XLA_"))}
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    done = subprocess.run(
        [*command, "--kills", "6", "--tasks", "fit", "agent"],
        cwd=ROOT,
        env={**others, **cache},  # compiled as for users, but once
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(counts.read_text())
    assert [one["kills"] for one in found] == [3, 3]
    assert all(one["ends"] and not one["faults"] and not one["litter"] for one in found)
