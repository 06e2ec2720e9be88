"""Algorithms of Stable-Baselines3 in an imagined system, and their policies without PyTorch."""

import dataclasses

import gymnasium
import numpy as np
import pytest
import stable_baselines3

from cart import CART, TINY, data, model
from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.sb3 import SB3Training
from farstep.agents.train import train
from farstep.errors import FarstepError
from farstep.imagination.imagine import imagine
from farstep.policy import load_policy
from farstep.systems.system import System


@pytest.mark.parametrize("name", ["SAC", "TD3", "PPO"])
def test_an_algorithm_by_name(name: str, tmp_path):
    imagined = imagine(model(), CART, data())
    steps = 150
    config = dataclasses.replace(
        TINY if name == "SAC" else AgentConfig(eval_episodes=0),
        agent=f"sb3:{name}",
        steps=steps,
        eval_every=steps,
        num_envs=2,
    )
    agent = train(imagined, config, seed=0, out=tmp_path / "a")
    assert agent.curve.column("steps")[-1] >= steps
    assert np.isfinite(agent.curve.column("imagined_return")).all()
    read = load_policy(tmp_path / "a" / "policy.safetensors")
    states = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    np.testing.assert_array_equal(read(states), agent.policy(states))
    again = train(imagined, config, seed=0, out=tmp_path / "a")
    assert again.curve.rows == agent.curve.rows


@pytest.mark.parametrize("name", ["SAC", "TD3", "DDPG", "PPO", "A2C"])
def test_the_policy_acts_as_stable_baselines3s(name: str):
    imagined = imagine(model(), CART, data())
    training = SB3Training(imagined, AgentConfig(agent=f"sb3:{name}"), seed=0)
    theirs = training._create(training._environment())
    states = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    expected, _ = theirs.predict(states, deterministic=True)
    np.testing.assert_allclose(training._policy(theirs, {})(states), expected, atol=1e-5)


def test_sac_takes_our_settings():
    imagined = imagine(model(), CART, data())
    config = AgentConfig(agent="sb3:SAC", gamma=0.9, batch_size=32, ent_coef=0.1, tau=0.1)
    training = SB3Training(imagined, config, seed=0)
    theirs = training._create(training._environment())
    assert isinstance(theirs, stable_baselines3.SAC)
    assert (theirs.gamma, theirs.batch_size, theirs.tau) == (0.9, 32, 0.1)
    ours, default = AgentConfig(), stable_baselines3.SAC("MlpPolicy", imagined.env(), device="cpu")
    for name in ("learning_rate", "buffer_size", "learning_starts", "batch_size", "tau", "gamma"):
        assert getattr(ours, name) == getattr(default, name), name
    assert ours.gradient_steps == default.gradient_steps == 1
    assert [
        layer.out_features for layer in default.actor.latent_pi if hasattr(layer, "weight")
    ] == [*ours.net_arch]


def test_settings_that_an_algorithm_does_not_take_are_refused():
    imagined = imagine(model(), CART, data())
    with pytest.raises(FarstepError, match="keeps Stable-Baselines3's own net_arch"):
        train(imagined, agent="sb3:PPO", net_arch=(8,), steps=200)
    with pytest.raises(FarstepError, match="a real system is one"):
        train("Pendulum-v1", agent="sb3:SAC", num_envs=2, steps=200)


@pytest.mark.parametrize("fails", [False, True])
def test_the_real_environment_is_closed(fails: bool, monkeypatch: pytest.MonkeyPatch):
    env, closed = gymnasium.make("Pendulum-v1"), []
    monkeypatch.setattr(env, "close", lambda: closed.append(True))
    monkeypatch.setattr(System, "make", lambda _: env)
    settings = {"agent": "sb3:TD3", "steps": 101, "eval_episodes": 0}
    if fails:
        monkeypatch.setattr(SB3Training, "_policy", None)
        with pytest.raises(TypeError):
            train("Pendulum-v1", **settings)
    else:
        train("Pendulum-v1", **settings)
    assert closed


def test_an_unfinished_training_of_another_is_not_lost(tmp_path):
    imagined = imagine(model(), CART, data())
    (tmp_path / "a").mkdir()
    checkpoint = tmp_path / "a" / "checkpoint.safetensors"
    checkpoint.write_bytes(tensors.encode({"x": np.zeros(1)}, {"identity": "another"}))
    with pytest.raises(FarstepError, match="holds an unfinished agent"):
        train(imagined, agent="sb3:SAC", steps=200, out=tmp_path / "a")
    assert checkpoint.exists()
