"""`farstep iterate`, killed in every stage and with several workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from farstep.models.model import load_model
from farstep.storage import tensors
from farstep.systems.network_policy import load_policy
from farstep.workflows.real_episodes import read_episodes

TESTS = Path(__file__).parents[1]
COMMAND = [
    *(sys.executable, "-m", "farstep", "iterate", "cart_env:SYSTEM", "--warm-start", "both"),
    *("--fit.horizon", "2", "--fit.weights", "uniform", "--fit.width", "8", "--fit.depth", "1"),
    *("--fit.model-steps", "4000", "--fit.batch-size", "16", "--agent.steps", "600"),
    *("--agent.num-envs", "2", "--agent.learning-starts", "10", "--agent.batch-size", "8"),
    *("--agent.net-arch", "8", "--agent.eval-every", "20"),
]


def _start(out: Path, *options: str) -> "subprocess.Popen[bytes]":
    command = [*COMMAND, *options, "--out", str(out)]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=out.parent,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def test_sigkill_in_every_stage_loses_nothing(tmp_path: Path):
    """Killed as soon as a stage of the second episode has stored something."""
    one = ("--episodes", "2", "--seeds", "1", "--workers", "1")
    assert _start(tmp_path / "whole", *one).wait(600) == 0
    killed, whole = (tmp_path / name / "seed-0" for name in ("killed", "whole"))
    stages = [
        ("episode-001/model", "*.checkpoint.safetensors"),
        ("episode-001/agent", "*.checkpoint.safetensors"),
        ("episodes", "000002.npz"),
    ]
    for folder, pattern in stages:
        process = _start(tmp_path / "killed", *one)
        while not list((killed / folder).glob(pattern)):
            assert process.poll() is None, folder
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(600) == -signal.SIGKILL
        assert not (killed / "episode-001" / "result.json").exists()
    assert _start(tmp_path / "killed", *one).wait(600) == 0
    assert read_episodes(killed / "episodes").equals(read_episodes(whole / "episodes"))
    models = [
        tensors.to_arrays(load_model(x / "episode-001" / "model").dynamics) for x in (killed, whole)
    ]
    for name, array in models[0].items():
        np.testing.assert_array_equal(array, models[1][name])
    observations = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    actions = [
        load_policy(x / "episode-001" / "agent" / "policy.safetensors").predict(observations)
        for x in (killed, whole)
    ]
    np.testing.assert_array_equal(actions[0], actions[1])


def test_seeds_run_side_by_side(tmp_path: Path):
    options = ("--episodes", "1", "--seeds", "2", "--workers", "2")
    assert _start(tmp_path / "loop", *options).wait(600) == 0
    first, second = (read_episodes(tmp_path / "loop" / f"seed-{n}" / "episodes") for n in (0, 1))
    assert len(first) == len(second) == 2
    assert not first.equals(second)
    assert (tmp_path / "loop" / "returns.png").exists()
