"""What a ModelEnv is made of: its initial states, reward and settings, and what it refuses."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.model_env.config import PRESETS
from farstep.model_env.model_env import ModelEnv
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.models.network import NetworkShape
from farstep.models.reward import RewardHead

METRES = dataclasses.replace(cart.SIGNALS, observation_units=("m", "m/s"), interval=0.1)
UNBOUNDED = dataclasses.replace(cart.SIGNALS, action_high=(np.inf,))
ONE_STATE = dataclasses.replace(cart.SIGNALS, observation_names=("x",), observation_units=("",))


@pytest.mark.parametrize("source", ["first", "any"])
def test_episodes_start_from_recorded_observations(cart_data: Episodes, source: Any):
    env = ModelEnv(cart.model(), cart.CART, cart_data, initial_states=source).pure
    reset = jax.jit(lambda env, keys: jax.vmap(env.reset)(keys).state)
    states = np.asarray(reset(env, jax.random.split(jax.random.key(0), 64)))
    rows = cart_data.row_offsets[:-1] if source == "first" else slice(None)
    known = {tuple(row) for row in cart_data.observations[rows].astype(np.float32).tolist()}
    found = {tuple(row) for row in states.tolist()}
    assert found <= known
    assert len(found) == 4 if source == "first" else len(found) > 20


def test_without_data_episodes_start_from_the_reset():
    env = ModelEnv(cart.model(), cart.CART, bounds=None)
    assert env.config.initial_states == "reset"
    np.testing.assert_array_equal(env.pure.reset(jax.random.key(0)).state, [1.0, 0.0])


def test_settings_change_a_preset(cart_data: Episodes):
    given = (cart.model(), cart.CART, cart_data)
    for config in ("branched", {"preset": "branched"}):
        found = ModelEnv(*given, config, bounds=0.5).config
        assert found == dataclasses.replace(PRESETS["branched"], bounds=0.5)
    with pytest.raises(FarstepError, match="'branchd'"):
        ModelEnv(*given, "branchd")


def test_observations_that_end_the_task_are_no_initial_states(cart_data: Episodes):
    ends = np.array([True, False, True, False])
    ended = dataclasses.replace(cart_data, terminated=ends, truncated=~ends)
    with pytest.warns(DataWarning, match="2 of 2 recorded terminations"):
        env = ModelEnv(cart.model(), cart.CART, ended, initial_states="any").pure
    states = env.initial_states
    assert states is not None
    left = np.delete(ended.observations, [20, 62], axis=0)
    assert int(states.count) == len(left)
    np.testing.assert_allclose(states.observations[: len(left)], left, rtol=1e-6)


def test_the_evaluation_env_is_run_as_the_real_system(cart_data: Episodes):
    ensemble = Ensemble.of([cart.linear(), cart.linear(cart.A + 0.2)])
    short = ModelEnv(
        Model(ensemble, cart.SIGNALS, "cart"),
        cart.CART,
        cart_data,
        {"max_episode_steps": 2, "uncertainty_penalty": 5.0},
        initial_states="any",
        out_of_bounds="terminate",
    )
    envs = (short.pure, short.evaluation_env, short.penalised_env)
    assert [env.max_episode_steps for env in envs] == [2, 20, 20]
    assert [env.uncertainty_penalty for env in envs] == [5.0, 0.0, 5.0]
    assert all(env.bounds.terminates for env in envs)
    firsts = cart_data.observations[cart_data.row_offsets[:-1]]
    for env in envs[1:]:
        assert env.initial_states is not None
        assert int(env.initial_states.count) == len(firsts)
        np.testing.assert_allclose(
            env.initial_states.observations[: len(firsts)], firsts, rtol=1e-6
        )


def test_a_learned_reward_is_used_if_it_is_asked_for_or_the_only_one(cart_data: Episodes):
    shape = NetworkShape(8, 1, "tanh", "none", 0.0)
    head = RewardHead.create(jax.random.key(0), 5, shape)
    model = dataclasses.replace(cart.model(), reward=head)
    step = jnp.array([1.0, 0.0]), jnp.zeros(1), jnp.array([0.5, 0.0])
    unknown = dataclasses.replace(cart.CART, reward=None)
    for env in (
        ModelEnv(model, unknown, cart_data),
        ModelEnv(model, cart.CART, cart_data, reward="learned"),
    ):
        assert float(env.pure.reward(*step)) == float(head(*step))
    known = ModelEnv(model, cart.CART, cart_data)
    assert float(known.pure.reward(*step)) == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("system", "settings", "named"),
    [
        ({"reward": None}, {}, "learn_reward"),
        ({}, {"reward": "learned"}, "learn_reward"),
        ({"reward": None}, {"reward": "known"}, "reward='known'"),
        ({"reset": None}, {}, "reset"),
        ({}, {"initial_states": "any"}, "data"),
        ({}, {"out_of_bounds": "terminate", "bounds": 0.0}, "data=train"),
        ({}, {"out_of_bounds": "terminate"}, "needs bounds"),
        ({}, {"bounds": 0.0}, "bounds need data"),
        ({}, {"uncertainty_penalty": 1.0}, "disagreement.*ensemble"),
        ({}, {"ensemble_mode": "step"}, "ensemble_mode='step' needs an ensemble"),
        ({}, {"uncertainty_penalty": -1.0}, "uncertainty_penalty"),
        ({}, {"max_episode_steps": 0}, "max_episode_steps"),
        ({}, {"bound": 1}, "'bounds'"),
        ({"signals": UNBOUNDED}, {}, "bounds"),
        ({"signals": ONE_STATE}, {}, "one system"),
        ({"angles": ((0, 3),)}, {}, "angles|dimension"),
    ],
)
def test_impossible_settings_are_refused(system: Any, settings: dict[str, Any], named: str):
    with pytest.raises(FarstepError, match=named):
        ModelEnv(
            cart.model(),
            dataclasses.replace(cart.CART, **system),
            config={"bounds": None, **settings},
        )


def test_a_model_of_a_fixed_horizon_or_of_no_system_is_refused():
    with pytest.raises(FarstepError, match="system"):
        ModelEnv(dataclasses.replace(cart.model(), system=None))
    direct = dataclasses.replace(cart.linear(), fixed_horizon=2)
    with pytest.raises(FarstepError, match="fixed_horizon"):
        ModelEnv(dataclasses.replace(cart.model(), dynamics=direct), cart.CART, bounds=None)


def test_a_model_file_does_not_choose_code_to_import():
    with pytest.raises(FarstepError, match="somewhere:cart"):
        ModelEnv(dataclasses.replace(cart.model(), system="somewhere:cart"))


def test_an_unknown_termination_gives_a_warning(cart_data: Episodes):
    with pytest.warns(DataWarning, match="terminated"):
        ModelEnv(cart.model(), dataclasses.replace(cart.CART, terminated=None), cart_data)


def test_other_units_are_refused_and_other_intervals_give_a_warning():
    system = dataclasses.replace(cart.CART, signals=METRES)
    inches = dataclasses.replace(METRES, observation_units=("in", "m/s"))
    with pytest.raises(FarstepError, match="'position' is in in"):
        ModelEnv(dataclasses.replace(cart.model(), signals=inches), system)
    slow = dataclasses.replace(METRES, interval=2.0)
    with pytest.warns(DataWarning, match="steps of 2 s"):
        ModelEnv(dataclasses.replace(cart.model(), signals=slow), system, bounds=None)
