"""A system of 17 states and 6 actions, from nothing to an agent, with the four commands."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farstep.model import load_model
from farstep.policy import load_policy

FIT = ("--horizon", 2, "--weights", "uniform", "--epochs", 1, "--width", 16, "--batch", 512)
ALONE = ("--members", 1, "--seeds", 1, "--workers", 1)
AGENT = ("steps=60", "num_envs=2", "batch_size=8", "net_arch=[8]", "eval_every=60")


def test_it_is_collected_fitted_scored_and_acted_in(
    farstep: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("farstep.loops.offline._EPISODES", 1)
    for command in (
        ("collect", "HalfCheetah-v5", "--episodes", 5, "--workers", 1, "--out", "data.npz"),
        ("fit", "data.npz", *FIT, "--out", "model"),
        ("score", "model", "--data", "data.npz", "--horizon", 10, "--out", "score"),
        ("offline", "data.npz", *FIT, *ALONE, "--agent-option", *AGENT, "--out", "offline"),
    ):
        done = farstep(*command)
        assert done.code == 0, done.err
    assert load_model("model").signals.num_states == 17
    assert "R²" in Path("score/report.html").read_text()
    policy = load_policy("offline/seed-0/agent")
    assert np.abs(policy(np.zeros((3, 17)))).max() <= 1
    assert policy(np.zeros(17)).shape == (6,)
