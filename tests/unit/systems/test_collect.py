"""Collecting: the same data for any number of workers, after a kill, and up to an error."""

import dataclasses
import pickle
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.storage.run_directory import read_result
from farstep.systems.collect import collect, run_episodes
from farstep.systems.network_policy import NetworkPolicy
from farstep.systems.policies import random_policy
from farstep.systems.recording import EpisodeFiles, Recorded, attempt, record_episode
from farstep.systems.registry import get_system

SHORT = dataclasses.replace(get_system("cartpole-swingup"), max_episode_steps=30)


@pytest.fixture(scope="module")
def five() -> Episodes:
    """Five short episodes of random actions."""
    return collect(SHORT, episodes=5, seed=3)


def test_every_episode_has_a_random_stream_of_its_own(five: Episodes):
    assert not collect(SHORT, episodes=5, seed=8).equals(five)
    few = collect(SHORT, episodes=2, seed=3)
    np.testing.assert_array_equal(five.take([0, 1]).observations, few.observations)
    assert five.lengths.tolist() == [30] * 5
    assert five.truncated.all()
    assert not five.terminated.any()
    recorded = run_episodes(SHORT, random_policy(SHORT), 2, seed=3)
    np.testing.assert_array_equal(recorded[1].observations, five[1].observations)


class Pool(nullcontext):
    """Runs what it is sent in this process, in another order."""

    def __enter__(self):
        return self

    def map(self, runner, numbers) -> Iterator[Recorded]:
        copy = pickle.loads(pickle.dumps(runner))
        found = {number: copy(number) for number in reversed(numbers)}
        yield from (found[number] for number in numbers)


def test_the_data_do_not_depend_on_the_workers(five: Episodes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("farstep.systems.collect.ProcessPoolExecutor", lambda *_, **__: Pool())
    assert collect(SHORT, episodes=5, seed=3, workers=2).equals(five)


def test_the_recipe_is_recorded():
    noisy = SHORT.with_env_kwargs(observation_noise=0.1, ranges=(np.float64(1.0),) * 5)
    data = collect(noisy, episodes=1, seed=2)
    assert data.system == "cartpole-swingup"
    assert data.metadata["collected"] == {
        "env_id": "farstep/CartpoleSwingup-v0",
        "env_kwargs": {"observation_noise": 0.1, "ranges": [1.0] * 5},
        "policy": "random",
        "episodes": 1,
        "seed": 2,
    }
    assert data.clean_observations is not None


def test_a_policy_sees_the_observation_it_acts_on():
    data = collect(SHORT, lambda observation: -np.sign(observation[:1]), episodes=1)
    np.testing.assert_array_equal(data.actions[:, 0], -np.sign(data.observations[:-1, 0]))


class PredictsPairs:
    """Returns what Stable-Baselines3's models return."""

    def predict(self, observations):
        return np.full((*np.shape(observations)[:-1], 1), 0.25), None


def test_policies_may_return_a_tuple():
    assert (collect(SHORT, PredictsPairs(), episodes=1).actions == 0.25).all()


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"workers": 0}, {"seed": -1}])
def test_counts_are_checked(wrong: dict):
    with pytest.raises(FarstepError, match=next(iter(wrong))):
        collect(SHORT, **wrong)


@pytest.mark.parametrize("action", [0.5, [1.5], [np.nan], [0.1, 0.2]])
def test_an_action_that_the_system_cannot_take_is_located(action: object):
    with pytest.raises(FarstepError, match=r"episode 0, step 0 .*shape \(1,\)"):
        collect(SHORT, lambda _: np.array(action), episodes=1)


class Wearing:
    """Acts for some steps, then fails."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        del observation
        self.left -= 1
        if self.left < 0:
            raise OSError("the arm is off")
        return np.zeros(1)


def test_what_was_recorded_before_an_error_is_returned():
    with pytest.warns(DataWarning, match=r"episode 1, step 12 .*the arm is off; 2 of 5"):
        data = collect(SHORT, Wearing(42), episodes=5)
    assert data.lengths.tolist() == [30, 12]
    assert data.truncated.tolist() == [True, True]
    assert not data.terminated.any()
    assert data.metadata["collected"]["episodes"] == 2
    assert "the arm is off" in data.metadata["collected"]["trouble"]
    with pytest.warns(DataWarning, match="1 of 5"):  # no step of the second one
        assert len(collect(SHORT, Wearing(30), episodes=5)) == 1
    with pytest.raises(FarstepError, match=r"episode 0, step 0 .*the arm is off"):
        collect(SHORT, Wearing(0), episodes=5)


def test_an_evaluation_that_fails_is_an_error():
    class Policy:
        predict = Wearing(42)

    with pytest.raises(FarstepError, match=r"episode 1, step 12 .*the arm is off"):
        run_episodes(SHORT, Policy(), 5, seed=0)


def test_an_episode_with_an_error_is_recorded_again(tmp_path: Path, five: Episodes):
    with pytest.warns(DataWarning, match="2 of 5"):
        collect(SHORT, Wearing(42), episodes=5, out=tmp_path)
    assert read_result(tmp_path) is None
    assert [path.name for path in tmp_path.glob("*.npz")] == ["000000.npz"]
    data = collect(SHORT, Wearing(200), episodes=2, out=tmp_path)
    assert data.lengths.tolist() == [30, 30]


def network(weight: float) -> NetworkPolicy:
    size = (SHORT.signals.num_observations, SHORT.signals.num_actions)
    layers = [(np.full(size, weight, np.float32), np.zeros(size[1], np.float32))]
    return NetworkPolicy(layers, SHORT.signals)


def test_a_killed_collection_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, five: Episodes
):
    calls = []

    def stopping(*arguments):
        calls.append(arguments[-1])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return attempt(*arguments)

    monkeypatch.setattr("farstep.systems.collect.attempt", stopping)
    with pytest.raises(KeyboardInterrupt):
        collect(SHORT, episodes=4, seed=3, out=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 2
    assert len(collect(SHORT, episodes=4, seed=3, out=tmp_path)) == 4
    assert calls[3:] == ["episode 2", "episode 3"]
    assert collect(SHORT, episodes=5, seed=3, out=tmp_path).equals(five)  # one more
    assert calls[5:] == ["episode 4"]
    assert len(collect(SHORT, episodes=2, seed=3, out=tmp_path, workers=2)) == 2
    record = read_result(tmp_path)
    assert record is not None
    assert record["result"] == {"episodes": 5}
    assert EpisodeFiles(tmp_path, SHORT.signals, SHORT.name).episodes().fingerprint == (
        five.fingerprint
    )
    for policy, seed in (("random", 4), (Wearing(1), 3), (network(0.0), 3)):
        with pytest.raises(FarstepError, match="--force"):
            collect(SHORT, policy, episodes=5, seed=seed, out=tmp_path)
    (tmp_path / "000000.npz").write_text("damaged")
    with pytest.raises(FarstepError, match=r"000000\.npz"):
        collect(SHORT, episodes=5, seed=3, out=tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    again = collect(SHORT, episodes=1, seed=4, out=tmp_path, force=True)
    assert len(again) == 1
    assert len(list(tmp_path.glob("*.npz"))) == 1
    assert (tmp_path / "thesis.txt").exists()


def test_a_collection_with_another_network_is_refused(tmp_path: Path):
    for policy in (network(0.0), tmp_path / "agent"):
        out = tmp_path / type(policy).__name__
        network(0.0).save(tmp_path / "agent" / "policy.safetensors", force=True)
        for _ in range(2):
            assert len(collect(SHORT, policy, episodes=1, out=out)) == 1
        network(1.0).save(tmp_path / "agent" / "policy.safetensors", force=True)
        other = policy if isinstance(policy, Path) else network(1.0)
        with pytest.raises(FarstepError, match="--force"):
            collect(SHORT, other, episodes=1, out=out)


def test_stored_episodes_include_those_with_errors(tmp_path: Path, five: Episodes):
    files = EpisodeFiles(tmp_path, SHORT.signals, SHORT.name)
    with pytest.raises(FarstepError, match="no episodes"):
        files.episodes()
    files.write(0, Recorded(five[0], []))
    files.write(1, Recorded(None, ["it did not begin"]))
    files.write(3, Recorded(five[3], ["later"]))
    assert [(one.episode is None, one.trouble) for one in files] == [
        (False, []),
        (True, ["it did not begin"]),
    ]
    found = files.read(3)
    assert found is not None
    assert found.trouble == ["later"]
    (tmp_path / "000001.empty.json").write_text("{}")
    with pytest.raises(FarstepError, match=r"000001\.empty\.json"):
        files.read(1)


def test_a_policy_that_cannot_be_sent_to_a_worker_is_refused():
    with pytest.raises(FarstepError, match="one worker"):
        collect(SHORT, lambda _: np.zeros(1), episodes=2, workers=2)


def test_a_worker_that_dies_loses_no_finished_episode(monkeypatch: pytest.MonkeyPatch):
    class Broken(Pool):
        """A pool whose workers die after the first episode."""

        def map(self, runner, numbers) -> Iterator[Recorded]:
            yield runner(numbers[0])
            raise BrokenProcessPool

    monkeypatch.setattr("farstep.systems.collect.ProcessPoolExecutor", lambda *_, **__: Broken())
    with pytest.warns(DataWarning, match=r"worker .*; 1 of 3"):
        assert len(collect(SHORT, episodes=3, workers=2)) == 1


class Reuses(gymnasium.Env):
    """Returns the array that it writes to later, and writes into the action."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Box(-0.1, 0.1, (1,), np.float64)

    def __init__(self):
        self._state = np.zeros(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self._state[:] = 0
        return self._state, {}

    def step(self, action):
        assert self.action_space.contains(action)
        self._state += 1
        action *= 0
        return self._state, 0.0, False, bool(self._state[0] >= 3), {}


class Constant:
    """Returns one action in float32, whose bounds are wider than the environment's float64."""

    def __init__(self, action: float) -> None:
        self.action = np.full(1, action, np.float32)

    def predict(self, observations):
        del observations
        return self.action


def test_arrays_that_an_environment_writes_to_later_are_copied():
    seen = []

    def watch(before, action, reward, after, terminated):
        del reward, terminated
        seen.append((before[0], action[0], after[0]))

    trouble: list[str] = []
    episode = record_episode(Reuses(), Constant(0.1), 0, watch, trouble.append)
    assert trouble == []
    np.testing.assert_array_equal(episode.observations[:, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(episode.actions, np.full((3, 1), 0.1))
    np.testing.assert_array_equal(seen, [(0, 0.1, 1), (1, 0.1, 2), (2, 0.1, 3)])
    record_episode(Reuses(), Constant(0.101), 0, None, trouble.append)
    assert "step 0" in trouble[0]


class Breaks(Reuses):
    """Returns a number that is not finite, or another shape, in its second step."""

    def __init__(self, wrong: str):
        super().__init__()
        self.wrong = wrong

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        if self._state[0] == 2:
            odd = {"nan": np.array([0, np.nan]), "shape": np.zeros(3), "reward": observation}
            observation, reward = odd[self.wrong], np.inf if self.wrong == "reward" else 0.0
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("nan", "observation number 1 = nan"), ("shape", "(3,)"), ("reward", "reward = inf")],
)
def test_steps_that_are_not_finite_end_the_episode(wrong: str, message: str):
    trouble: list[str] = []
    episode = record_episode(Breaks(wrong), Constant(0.1), 0, None, trouble.append)
    assert len(episode.actions) == 1
    assert episode.truncated
    assert message in trouble[0]
    assert "step 1" in trouble[0]


def test_an_environment_that_does_not_begin_is_trouble():
    def fails(*_: object) -> None:
        raise OSError("no power")

    unmade = dataclasses.replace(cart.CART, env_id="nowhere:Rig-v0")
    found = attempt(unmade, Constant(0.1), np.random.SeedSequence(0), "episode 7")
    assert found.episode is None
    assert "episode 7" in found.trouble[0]
    unready = Constant(0.1)
    unready.reset = fails  # type: ignore[attr-defined]
    found = attempt(SHORT, unready, np.random.SeedSequence(0), "episode 7")
    assert found == Recorded(None, ["episode 7 did not begin: no power"])
