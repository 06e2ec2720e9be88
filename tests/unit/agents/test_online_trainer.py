"""Training on a real system, which may fail: every episode is recorded and kept."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import cart
from farstep.agents import online_trainer
from farstep.agents.config import AgentConfig
from farstep.agents.sac import Learner, create_learner
from farstep.agents.train_agent import train_agent
from farstep.agents.trainer import SACTrainer
from farstep.data.dataset_files import read_dataset
from farstep.errors import DivergedError, FarstepError
from farstep.systems.network_policy import load_policy
from farstep.systems.system import System

ONLINE = AgentConfig(
    steps=45, batch_size=16, net_arch=(16, 16), eval_every=20, eval_episodes=0, buffer_size=64
)
"""Episodes of 10 steps: evaluations after 20, 40 and 50 steps, updates from step 6 on."""
REAL = dataclasses.replace(cart.CART, env_id="RealCart-v0", max_episode_steps=10)


class RealCart(gymnasium.Env):
    """The cart itself, which can be told to fail or to return NaN."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 1.0, (1,), np.float32)
    steps_until_failure = np.inf

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.observation = self.np_random.normal(size=2).astype(np.float32)
        return self.observation, {}

    def step(self, action):
        RealCart.steps_until_failure -= 1
        if RealCart.steps_until_failure < 0:
            raise OSError("no power")
        self.observation = cart.A @ self.observation + cart.B @ action
        reward = -float(self.observation[0] ** 2) - 0.1 * float(action[0] ** 2)
        return self.observation, reward, False, False, {}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(RealCart, "steps_until_failure", np.inf)
    gymnasium.register("RealCart-v0", lambda **_: RealCart())
    yield
    del gymnasium.registry["RealCart-v0"]


def test_every_episode_is_recorded_and_a_finished_agent_is_read(tmp_path: Path):
    agent = train_agent(REAL, ONLINE, out=tmp_path, eval_episodes=1)
    trace = read_dataset(tmp_path / "episodes.npz")
    assert trace.lengths.tolist() == [10] * 5  # whole episodes, until 45 steps are reached
    assert agent.episodes is not None and agent.episodes.equals(trace)
    assert trace.rewards is not None
    assert agent.curve.column("steps").tolist() == [20, 40, 50]
    assert agent.curve.column("updates").tolist() == [14, 34, 44]
    expected = trace.rewards[:20].sum() / 2
    assert agent.curve.column("training_return")[0] == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(agent.curve.column("real_return")).all()
    again = train_agent(REAL, ONLINE, out=tmp_path, eval_episodes=1)
    assert again.episodes is not None and again.episodes.equals(trace)
    cart.same_policy(again.policy, agent.policy)


def test_a_killed_training_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = train_agent(REAL, ONLINE, seed=2)

    save = SACTrainer.save

    def killed_before(*arguments):
        raise KeyboardInterrupt

    def killed_after(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    for killed in (killed_before, killed_after, killed_before):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(SACTrainer, "save", killed)
            train_agent(REAL, ONLINE, seed=2, out=tmp_path)
    # The last one stored its episodes, but no checkpoint.
    assert len(read_dataset(tmp_path / "episodes.npz")) == 4
    resumed = train_agent(REAL, ONLINE, seed=2, out=tmp_path)
    cart.same_policy(resumed.policy, whole.policy)
    cart.same_policy(resumed.best, whole.best)
    assert resumed.episodes is not None and whole.episodes is not None
    assert resumed.episodes.equals(whole.episodes)


def test_episodes_before_a_failure_are_kept_and_training_continues(tmp_path: Path):
    whole = train_agent(REAL, ONLINE)
    RealCart.steps_until_failure = 33
    failure = pytest.raises(FarstepError, match=r"episode 3, step 3 failed: OSError: no power")
    with failure as raised:
        train_agent(REAL, ONLINE, out=tmp_path)
    assert "last checkpoint" in str(raised.value)
    assert read_dataset(tmp_path / "episodes.npz").lengths.tolist() == [10, 10, 10, 3]
    RealCart.steps_until_failure = np.inf
    resumed = train_agent(REAL, ONLINE, out=tmp_path)
    cart.same_policy(resumed.policy, whole.policy)


def test_a_failure_before_the_first_checkpoint_replaces_nothing(tmp_path: Path):
    first = train_agent(REAL, ONLINE, out=tmp_path)
    for number in (1, 2):
        RealCart.steps_until_failure = 13
        with pytest.raises(FarstepError, match=rf"failed-{number}\.npz"):
            train_agent(REAL, ONLINE, seed=1, out=tmp_path, force=True)
        failed = read_dataset(tmp_path / f"episodes-failed-{number}.npz")
        assert failed.lengths.tolist() == [10, 3]
    RealCart.steps_until_failure = np.inf
    again = train_agent(REAL, ONLINE, out=tmp_path)
    cart.same_policy(again.policy, first.policy)
    assert again.episodes is not None and first.episodes is not None
    assert again.episodes.equals(first.episodes)
    other = train_agent(REAL, ONLINE, seed=1, out=tmp_path, force=True)
    cart.same_policy(load_policy(tmp_path), other.policy)
    assert not np.array_equal(other.policy.layers[0][0], first.policy.layers[0][0])
    stored = read_dataset(tmp_path / "episodes.npz")
    assert other.episodes is not None and stored.equals(other.episodes)


def test_a_forced_training_that_cannot_begin_leaves_the_old_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = train_agent(REAL, ONLINE, out=tmp_path)

    def broken(self: System) -> None:
        raise FarstepError("it cannot be made.")

    with monkeypatch.context() as patch, pytest.raises(FarstepError, match="cannot be made"):
        patch.setattr(System, "make", broken)
        train_agent(REAL, ONLINE, seed=1, out=tmp_path, force=True)
    cart.same_policy(load_policy(tmp_path), first.policy)


def test_episodes_of_another_program_are_not_replaced(tmp_path: Path):
    (tmp_path / "episodes.npz").write_text("mine")
    with pytest.raises(FarstepError, match=r"episodes\.npz"):
        train_agent(REAL, ONLINE, out=tmp_path)
    assert (tmp_path / "episodes.npz").read_text() == "mine"


def test_an_agent_that_diverges_is_an_error(monkeypatch: pytest.MonkeyPatch):
    def diverged(*arguments: Any) -> Learner:
        learner = create_learner(*arguments)
        return learner._replace(actor=jax.tree.map(lambda leaf: leaf * np.nan, learner.actor))

    monkeypatch.setattr(online_trainer, "create_learner", diverged)
    with pytest.raises(DivergedError, match="learning_rate"):
        train_agent(REAL, ONLINE)
