import dataclasses
import os

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.signals import Signals
from farstep.systems.collect import collect
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
