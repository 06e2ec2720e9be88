"""Iterated batch RL, killed in any stage and with several workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from farstep import tensors
from farstep.loops.real_episodes import all_of
from farstep.model import load_model
from farstep.policy import load_policy

COMMAND = [
    *(sys.executable, "-m", "farstep", "iterate", "Pendulum-v1"),
    *("--horizon", "2", "--imagination-option", "reward=learned", "--warm", "both"),
    *("--weights", "uniform", "--fit-option", "width=8", "depth=1", "epochs=6", "batch=64"),
    *("--agent-option", "steps=600", "num_envs=2", "learning_starts=10", "batch_size=8"),
    *("net_arch=[8]", "eval_every=20"),
]


def _start(out: Path, *options: str) -> "subprocess.Popen[bytes]":
    command = [*COMMAND, *options, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_sigkill_in_every_stage_loses_nothing(tmp_path: Path):
    """Killed as soon as a stage of the second epoch has stored something."""
    one = ("--epochs", "2", "--seeds", "1", "--workers", "1")
    assert _start(tmp_path / "whole", *one).wait(600) == 0
    place = tmp_path / "killed" / "seed-0"
    stages = [
        *(place / "epoch-001" / "model" / "checkpoint-0.safetensors",),
        *(place / "epoch-001" / "agent" / "checkpoint.safetensors",),
        *(place / "episodes" / "002.npz",),
    ]
    for stage in stages:
        process = _start(tmp_path / "killed", *one)
        while not stage.exists():
            assert process.poll() is None
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(600) == -signal.SIGKILL
        assert not (place / "epoch-001" / "result.json").exists()
    assert _start(tmp_path / "killed", *one).wait(600) == 0
    whole = tmp_path / "whole" / "seed-0"
    assert all_of(place / "episodes").equals(all_of(whole / "episodes"))
    models = [
        tensors.to_arrays(load_model(x / "epoch-001" / "model").dynamics) for x in (place, whole)
    ]
    for name, array in models[0].items():
        np.testing.assert_array_equal(array, models[1][name])
    states = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    acts = [load_policy(x / "epoch-001" / "agent" / "policy.safetensors") for x in (place, whole)]
    np.testing.assert_array_equal(acts[0](states), acts[1](states))


def test_seeds_run_side_by_side(tmp_path: Path):
    assert (
        _start(tmp_path / "loop", "--epochs", "1", "--seeds", "2", "--workers", "2").wait(600) == 0
    )
    first, second = (all_of(tmp_path / "loop" / f"seed-{seed}" / "episodes") for seed in (0, 1))
    assert len(first) == len(second) == 2
    assert not first.equals(second)
    assert (tmp_path / "loop" / "returns.png").exists()
