"""A system of 17 observations and 6 actions, from nothing to an agent on the real system."""

from pathlib import Path

import numpy as np
import pytest

import farstep as fs
from farstep.systems.network_policy import load_policy

FIT = {
    "horizon": 2, "weights": "uniform", "epochs": 1, "width": 16, "depth": 2, "batch_size": 999,
    "ensemble_size": 1, "observer_steps": 0,
}  # fmt: skip
AGENT = {
    "steps": 60, "num_envs": 2, "batch_size": 16, "net_arch": (16, 16), "eval_every": 60,
    "learning_starts": 20, "eval_episodes": 1,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")  # so short a fit leaves the data
def test_halfcheetah_is_collected_fitted_evaluated_and_acted_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("farstep.workflows.offline._EPISODES", 1)
    data = fs.collect("HalfCheetah-v5", episodes=5, workers=1)
    assert (data.signals.num_observations, data.signals.num_actions) == (17, 6)
    done = fs.offline(data, fit=FIT, agent=AGENT, seeds=1, workers=1, out=tmp_path)
    assert np.isfinite(done.results[0]["return"])
    model = fs.load_model(next(tmp_path.rglob("model.safetensors")).parent)
    model = {"model": model}
    found = fs.evaluate(model, data.take([0]), horizon=10, references=False)["model"]
    assert found.r2.shape == (1, 10) and np.isfinite(found.r2).all()
    policy = load_policy(next(tmp_path.rglob("agent")))
    for given, expected in ((np.zeros((3, 17)), (3, 6)), (np.zeros(17), (6,))):
        actions = policy.predict(given)
        assert actions.shape == expected
        assert np.abs(actions).max() <= 1
