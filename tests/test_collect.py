import dataclasses
import os
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial

import gymnasium
import numpy as np
import pytest

from farstep.datasets.reading import read
from farstep.errors import DataWarning, FarstepError
from farstep.policy import Policy
from farstep.signals import Signals
from farstep.systems.collect import attempt, collect, record_episode, run_episodes
from farstep.systems.kept_episodes import remove_kept
from farstep.systems.policies import policy_named
from farstep.systems.registry import system

SHORT = dataclasses.replace(system("cartpole-swingup"), episode_steps=30)


def test_the_data_do_not_depend_on_the_number_of_workers():
    alone = collect(SHORT, episodes=5, seed=7)
    shared = collect(SHORT, episodes=5, seed=7, workers=2)
    assert shared.equals(alone)
    assert not collect(SHORT, episodes=5, seed=8).equals(alone)


def test_more_episodes_begin_with_the_same_ones():
    few, many = collect(SHORT, episodes=2), collect(SHORT, episodes=4)
    np.testing.assert_array_equal(many.take([0, 1]).states, few.states)


def test_where_it_came_from_is_recorded():
    data = collect(dataclasses.replace(SHORT, env_options={"noise": 0.1}), episodes=1, seed=2)
    assert data.system == "cartpole-swingup"
    assert data.metadata["collected"] == {
        "env_id": "farstep/CartpoleSwingup-v0",
        "policy": "random",
        "episodes": 1,
        "seed": 2,
        "env_options": {"noise": 0.1},
    }
    assert data.clean_states is not None


def test_random_actions_fill_their_bounds():
    actions = collect(SHORT, episodes=20).actions
    assert actions.min() < -0.97
    assert actions.max() > 0.97
    assert abs(actions.mean()) < 0.1


def test_a_policy_sees_the_state_it_acts_in():
    def push_back(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.array([-np.sign(state[0])])

    data = collect(SHORT, push_back, episodes=1)
    np.testing.assert_array_equal(data.actions[:, 0], -np.sign(data.states[:-1, 0]))


def test_what_cannot_be_sent_to_a_worker_is_said():
    with pytest.raises(FarstepError, match="top level of a module, or use one worker"):
        collect(SHORT, lambda *_: np.zeros(1), episodes=2, workers=2)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"workers": 0}, {"seed": -1}])
def test_counts_must_make_sense(wrong: dict):
    with pytest.raises(FarstepError, match="must be a whole number of at least"):
        collect(SHORT, **wrong)


@pytest.mark.parametrize("action", [0.5, [1.5], [np.nan], [0.1, 0.2]])
def test_an_action_that_the_system_cannot_take_is_said(action: object):
    with pytest.raises(
        FarstepError, match=r"in episode 0, step 0 the policy returned .*shape \(1,\)"
    ):
        collect(SHORT, lambda *_: np.array(action), episodes=1)


class _Wearing:
    """Acts as it should for some steps, then fails."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        del state, rng
        self.left -= 1
        if self.left < 0:
            raise OSError("the arm is off")
        return np.zeros(1)


def test_what_was_recorded_before_a_failure_is_kept():
    said = r"in episode 1, step 12 failed: .*the arm is off; 2 of 5 episode\(s\) were recorded"
    with pytest.warns(DataWarning, match=said):
        data = collect(SHORT, _Wearing(42), episodes=5)
    assert data.lengths.tolist() == [30, 12]
    assert data.truncated.tolist() == [True, True] and not data.terminated.any()
    assert data.metadata["collected"]["episodes"] == 2
    assert "the arm is off" in data.metadata["collected"]["trouble"]
    with pytest.warns(DataWarning, match="1 of 5"):  # nothing of the second one
        assert len(collect(SHORT, _Wearing(30), episodes=5)) == 1
    with pytest.raises(FarstepError, match=r"in episode 0, step 0 failed: .*the arm is off"):
        collect(SHORT, _Wearing(0), episodes=5)


def test_an_evaluation_that_fails_is_an_error():
    with pytest.raises(FarstepError, match=r"in episode 1, step 12 failed: .*the arm is off"):
        run_episodes(SHORT, _Wearing(42), 5, seed=0)
    assert len(run_episodes(SHORT, _Wearing(60), 2, seed=0)) == 2


def test_with_workers_too_what_was_recorded_is_kept():
    with pytest.warns(DataWarning, match=r"in episode 0, step 4 .*; 1 of 4 episode\(s\)"):
        assert collect(SHORT, _tires, episodes=4, workers=2).lengths.tolist() == [4]


def _tires(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    _tires.steps = getattr(_tires, "steps", 0) + 1  # pyright: ignore[reportFunctionMemberAccess]
    if _tires.steps > 4:  # pyright: ignore[reportFunctionMemberAccess]
        raise OSError("tired")
    return np.zeros(1)


def _policy(weight: float) -> Policy:
    size = (SHORT.signals.num_states, SHORT.signals.num_actions)
    return Policy([(np.full(size, weight, np.float32), np.zeros(size[1]))], SHORT.signals)


def test_policies_are_told_apart_by_their_numbers(tmp_path):
    for folder in ("names", "objects"):
        for weight in (0.0, 1.0):
            policy = _policy(weight)
            if folder == "names":  # the directory of an agent, which is trained again
                policy.save(tmp_path / "agent" / "policy.safetensors", force=True)
                policy = tmp_path / "agent"
            refused = pytest.raises(FarstepError, match="collected with other settings")
            with refused if weight else nullcontext():
                collect(SHORT, policy, episodes=1, keep=tmp_path / folder)


@dataclasses.dataclass(frozen=True)
class _Push:
    force: float

    def __call__(self, state, rng):
        del state, rng
        return np.full(1, self.force)


def _pushed(push, state, rng):
    return push(state, rng)


def test_objects_are_told_apart_and_known_again(tmp_path):
    again = (_Push(0.5), partial(_pushed, _Push(0.5)))
    for number, policy in enumerate(again):
        for _ in range(2):
            collect(SHORT, policy, episodes=1, keep=tmp_path / str(number))
        with pytest.raises(FarstepError, match="collected with other settings"):
            collect(SHORT, _Push(0.1), episodes=1, keep=tmp_path / str(number))


def test_a_collection_that_is_stopped_goes_on(tmp_path, monkeypatch):
    whole = collect(SHORT, episodes=5, seed=3)
    calls = []

    def stopping(*arguments):
        calls.append(arguments[-1])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return attempt(*arguments)

    monkeypatch.setattr("farstep.systems.collect.attempt", stopping)
    with pytest.raises(KeyboardInterrupt):
        collect(SHORT, episodes=5, seed=3, keep=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert collect(SHORT, episodes=5, seed=3, keep=tmp_path).equals(whole)
    assert calls[3:] == ["episode 2", "episode 3", "episode 4"]
    assert len(collect(SHORT, episodes=2, seed=3, keep=tmp_path, workers=2)) == 2
    for policy, seed in (("random", 4), (_tires, 3), (_policy(0.0), 3)):
        with pytest.raises(FarstepError, match="collected with other settings"):
            collect(SHORT, policy, episodes=5, seed=seed, keep=tmp_path)
    (tmp_path / "000000.npz").write_text("damaged")
    with pytest.raises(FarstepError, match=r"000000\.npz"):
        collect(SHORT, episodes=5, seed=3, keep=tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    remove_kept(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_worker_that_dies_loses_no_finished_episode(monkeypatch):
    class Broken(nullcontext):
        """A pool whose workers die after the first episode."""

        def map(self, runner, numbers):
            yield runner(numbers[0])
            raise BrokenProcessPool

    monkeypatch.setattr("farstep.systems.collect.ProcessPoolExecutor", lambda *_, **__: Broken())
    monkeypatch.setattr(Broken, "__enter__", lambda self: self)
    with pytest.warns(DataWarning, match=r"a worker process died.*; 1 of 3 episode\(s\)"):
        assert len(collect(SHORT, episodes=3, workers=2)) == 1


def test_a_worker_that_dies_is_said():
    with pytest.raises(FarstepError, match="a worker process died"):
        collect(SHORT, _die, episodes=2, workers=2)


def _die(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    os._exit(1)


def test_unknown_policies_and_missing_bounds_are_errors():
    with pytest.raises(FarstepError, match=r"there is no policy 'rndom'. Did you mean 'random'"):
        policy_named("rndom", SHORT)
    with pytest.raises(FarstepError, match="need bounds"):
        policy_named("random", dataclasses.replace(SHORT, signals=Signals.unnamed(1, 1)))


def test_a_collection_that_is_cut_short_is_stored_and_fails(tmp_path, farstep, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tired.py").write_text(
        "import numpy as np\n\nleft = [1005]\n\n\ndef act(state, rng):\n    left[0] -= 1\n"
        "    if left[0] < 0:\n        raise OSError('tired')\n    return np.zeros(1)\n"
    )
    options = ("--episodes", 3, "--workers", 1, "--out", tmp_path / "few.npz")
    done = farstep("collect", "cartpole-swingup", "--policy", "tired:act", *options)
    assert done.code == 2
    assert "2 of 3 episode(s) were recorded" in done.err and "OSError: tired" in done.err
    assert read(tmp_path / "few.npz").lengths.tolist() == [1000, 5]


class _Reuses(gymnasium.Env):
    """Hands out the array that it goes on writing to, writes into the action, as some do."""

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


def test_what_an_environment_writes_to_later_is_copied():
    """Its bounds, in float64, lie inside those of a policy's float32."""
    told = []

    def saturated(state, rng):
        return np.full(1, 0.1, np.float32)

    def watch(before, action, reward, after, ended):
        told.append((before, action, after))

    rng = np.random.default_rng(0)
    episode = record_episode(_Reuses(), saturated, 0, rng, watch)
    np.testing.assert_array_equal(episode.states[:, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(episode.actions, np.full((3, 1), 0.1))
    np.testing.assert_array_equal([(b[0], a[0], c[0]) for b, a, c in told],
                                  [(0, 0.1, 1), (1, 0.1, 2), (2, 0.1, 3)])  # fmt: skip
    with pytest.raises(FarstepError, match="the policy returned"):
        record_episode(_Reuses(), _Push(0.101), 0, rng)


def test_a_colon_in_a_name_need_not_be_code(tmp_path, monkeypatch):
    titled = dataclasses.replace(SHORT, name="rig: left, 12:30")
    _policy(0.5).save(tmp_path / "at:12" / "policy.safetensors")
    monkeypatch.chdir(tmp_path)
    found = collect(titled, "at:12/policy.safetensors", episodes=1, keep=tmp_path / "kept")
    assert found.system == titled.name and len(found) == 1
