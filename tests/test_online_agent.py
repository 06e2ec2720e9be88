"""The built-in agent on a real system, which may fail."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from tests.cart import same_policy

from farstep.agents.config import AgentConfig
from farstep.agents.files import AgentFiles
from farstep.agents.train import train
from farstep.datasets.reading import read
from farstep.errors import DivergedError, FarstepError
from farstep.policy import load_policy
from farstep.systems.system import System

ONLINE = AgentConfig(
    steps=450, learning_starts=50, batch_size=16, net_arch=(8, 8), eval_every=200, eval_episodes=0
)


def test_a_real_system_is_trained_on_and_its_trace_kept(tmp_path):
    agent = train("Pendulum-v1", ONLINE, seed=0, out=tmp_path / "a", eval_episodes=1)
    trace = read(tmp_path / "a" / "episodes.npz")
    # Whole episodes of 200 steps, until 450 are reached.
    assert trace.lengths.tolist() == [200, 200, 200]
    assert agent.episodes is not None and agent.episodes.equals(trace)
    assert agent.curve.column("training_return")[0] == pytest.approx(trace[0].total)
    assert np.isfinite(agent.curve.column("real_return")).all()
    again = train("Pendulum-v1", ONLINE, seed=0, out=tmp_path / "a", eval_episodes=1)
    assert again.episodes is not None and again.episodes.equals(trace)
    same_policy(again.policy, agent.policy)


def test_a_killed_real_training_loses_at_most_an_interval(tmp_path, monkeypatch):
    whole = train("Pendulum-v1", ONLINE, seed=2, out=tmp_path / "whole")
    write = AgentFiles.write

    def killed_before(self, progress):
        raise KeyboardInterrupt

    def killed_after(self, progress):
        write(self, progress)
        raise KeyboardInterrupt

    for killed in (killed_before, killed_after):
        monkeypatch.setattr(AgentFiles, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            train("Pendulum-v1", ONLINE, seed=2, out=tmp_path / "parts")
    monkeypatch.setattr(AgentFiles, "write", write)
    trace = tmp_path / "parts" / "episodes.npz"
    recorded = trace.read_bytes()
    train("Pendulum-v1", ONLINE, seed=1, out=tmp_path / "other")
    trace.write_bytes((tmp_path / "other" / "episodes.npz").read_bytes())
    with pytest.raises(FarstepError, match="is not of the unfinished agent beside it"):
        train("Pendulum-v1", ONLINE, seed=2, out=tmp_path / "parts")
    trace.write_bytes(recorded)
    resumed = train("Pendulum-v1", ONLINE, seed=2, out=tmp_path / "parts")
    same_policy(resumed.policy, whole.policy)
    assert resumed.episodes is not None and whole.episodes is not None
    assert resumed.episodes.equals(whole.episodes)


def test_a_real_system_is_one_and_needs_bounds():
    with pytest.raises(FarstepError, match="a real system is one"):
        train("Pendulum-v1", ONLINE, num_envs=2)
    agent = train("Pendulum-v1", "fast", steps=110, net_arch=(2,), eval_episodes=0)
    assert agent.policy.record["agent"]["num_envs"] == 1
    with pytest.raises(FarstepError, match="flat Box"):
        train("CartPole-v1", ONLINE)


def test_a_diverged_agent_is_told_of():
    with pytest.raises(DivergedError, match="the agent diverged"):
        train("Pendulum-v1", ONLINE, learning_rate=1e30)


class Failing(gymnasium.Env):
    """Fails in its third episode of ten steps."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        Failing.episodes += 1
        self.left = 10
        return np.zeros(2, np.float32), {}

    def step(self, action):
        del action
        self.left -= 1
        if Failing.episodes == 4 and self.left == 6:  # the first only made sure that it works
            raise OSError("no power")
        return np.full(2, 0.1, np.float32), 1.0, False, self.left == 0, {}


def test_what_a_real_system_gave_before_it_failed_is_kept(tmp_path):
    said = (
        r"in episode 2, step 3 failed: OSError: no power. 3 episode\(s\) are in .*failed-[12].npz"
    )
    no_power = pytest.raises(FarstepError, match=said)
    gymnasium.register("Failing-v1", "test_online_agent:Failing")
    try:
        Failing.episodes = 1
        with no_power:
            train("Failing-v1", ONLINE, out=tmp_path, eval_every=100)
        assert read(tmp_path / "episodes-failed-1.npz").lengths.tolist() == [10, 10, 3]
        Failing.episodes = 100  # mended: the same call starts again
        first = train("Failing-v1", ONLINE, out=tmp_path, eval_every=100)
        Failing.episodes = 1
        with no_power:
            train("Failing-v1", ONLINE, seed=1, out=tmp_path, eval_every=100, force=True)
        again = train("Failing-v1", ONLINE, out=tmp_path, eval_every=100)  # the old one is whole
    finally:
        del gymnasium.registry["Failing-v1"]
    assert again.episodes is not None and first.episodes is not None
    assert again.episodes.equals(first.episodes)
    assert read(tmp_path / "episodes-failed-2.npz").lengths.tolist() == [10, 10, 3]


def test_a_forced_training_that_cannot_begin_leaves_the_old_agent(tmp_path, monkeypatch):
    first = train("Pendulum-v1", ONLINE, seed=0, out=tmp_path)

    def broken(self: System) -> None:
        raise FarstepError("it cannot be made.")

    with monkeypatch.context() as patched, pytest.raises(FarstepError, match="cannot be made"):
        patched.setattr(System, "make", broken)
        train("Pendulum-v1", ONLINE, seed=1, out=tmp_path, force=True)
    same_policy(load_policy(tmp_path), first.policy)
    other = train("Pendulum-v1", ONLINE, seed=1, out=tmp_path, force=True)
    same_policy(load_policy(tmp_path), other.policy)
    assert not np.array_equal(other.policy.layers[0][0], first.policy.layers[0][0])


def test_episodes_of_others_are_not_overwritten(tmp_path: Path):
    (tmp_path / "episodes.npz").write_text("mine")
    with pytest.raises(FarstepError, match=r"episodes.npz exists already"):
        train("Pendulum-v1", ONLINE, out=tmp_path)
    assert (tmp_path / "episodes.npz").read_text() == "mine"
