"""The model as an environment, against a linear system whose rollouts are known exactly."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.model_env.out_of_bounds import DataDistance, leaving_reward
from farstep.model_env.pure_env import EnvStep, PureEnv
from farstep.model_env.reward import RewardStatistics
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.systems.system import System

KEY = jax.random.key(0)
STEPS = 10
FAST = cart.model(2 * np.eye(2, dtype=np.float32))
STILL = cart.model(np.eye(2, dtype=np.float32))
BROKEN = cart.model(np.full((2, 2), np.nan, np.float32))
APART = Ensemble.of([cart.linear(), cart.linear(cart.A + 0.2)])
"""Two members whose means differ by 0.2 in both dimensions, at the state (1, 0)."""
AT_ONE = np.array([1.0, 0.0], np.float32)


@jax.jit
def _steps(env: PureEnv, state: jax.Array, actions: jax.Array) -> EnvStep:
    begin = env.reset(KEY)._replace(state=state, observation=state)

    def once(env_state, given):
        number, action = given
        return env.step(env_state, action, jax.random.fold_in(KEY, number))

    return jax.lax.scan(once, begin, (jnp.arange(STEPS), actions))[1]


def steps(
    env: ModelEnv | PureEnv, state: np.ndarray = AT_ONE, actions: np.ndarray | float = 0.0
) -> EnvStep:
    """Return ten steps from a state, without starting new episodes."""
    pure = env.pure if isinstance(env, ModelEnv) else env
    given = np.broadcast_to(np.asarray(actions, np.float32), (STEPS, 1))
    return jax.tree.map(np.asarray, _steps(pure, jnp.asarray(state), jnp.asarray(given)))


@pytest.fixture(scope="module")
def data(cart_data: Episodes) -> Episodes:
    return cart_data


def unbounded(model: Model, data: Episodes, system: System = cart.CART, **settings) -> ModelEnv:
    return ModelEnv(model, system, data, bounds=None, **settings)


def test_states_are_the_exact_rollout_and_rewards_the_known_ones(data: Episodes):
    actions = np.random.default_rng(0).uniform(-2, 1, (STEPS, 1)).astype(np.float32)
    found = steps(unbounded(cart.model(), data), actions=actions)
    state = AT_ONE
    for number, action in enumerate(actions):
        state = cart.A @ state + cart.B @ action
        np.testing.assert_allclose(found.observation[number], state, rtol=1e-5)
        expected = -(state[0] ** 2) - 0.1 * action[0] ** 2
        assert found.reward[number] == pytest.approx(expected, rel=1e-4)
    assert not (found.terminated | found.truncated).any()


def test_angles_stay_on_the_circle(data: Episodes):
    turning = np.array([[0.8, -0.6], [0.6, 0.8]], np.float32)
    exact = np.linalg.matrix_power(turning, STEPS) @ AT_ONE
    circling = dataclasses.replace(cart.CART, angles=((0, 1),))
    for radius in (0.5, 1.5):  # models whose radius shrinks and grows
        found = steps(unbounded(cart.model(radius * turning), data, circling))
        np.testing.assert_allclose(found.state[-1], exact, atol=1e-5)
    free = unbounded(cart.model(0.5 * turning), data, circling, project_angles=False)
    np.testing.assert_allclose(steps(free).state[-1], exact / 2**STEPS, atol=1e-5)


def test_an_episode_is_truncated_and_only_that_one_starts_again():
    env = ModelEnv(cart.model(), cart.CART, bounds=None, max_episode_steps=3).pure
    keys = jax.random.split(KEY, 2)
    step_all = jax.jit(lambda *given: env.step_all(*given))
    states = jax.vmap(env.reset)(keys)._replace(steps=jnp.array([1, 0]))
    counts = []
    for number in range(6):
        states, step = step_all(states, jnp.ones((2, 1)), keys, jnp.array(number))
        assert not step.terminated.any()
        np.testing.assert_array_equal(np.asarray(step.truncated), np.asarray(states.steps) == 0)
        for one in range(2):
            expected = AT_ONE if step.truncated[one] else step.state[one]
            np.testing.assert_array_equal(states.state[one], expected)
        assert (np.asarray(step.state) != AT_ONE).any(axis=1).all()  # also where it ends
        counts.append(states.steps.tolist())
    assert counts == [[2, 1], [0, 2], [1, 0], [2, 1], [0, 2], [1, 0]]


def test_the_task_terminates_where_the_system_says(data: Episodes):
    found = steps(unbounded(FAST, data))  # |x| > 5
    assert found.terminated.tolist() == [False] * 2 + [True] * 8
    assert not found.truncated.any()


def test_states_are_clipped_to_the_bounds_and_violations_counted(data: Episodes):
    env = ModelEnv(FAST, cart.CART, data, bounds=0.5)
    low, high = data.observations.min(axis=0), data.observations.max(axis=0)
    np.testing.assert_allclose(env.pure.bounds.low, low - 0.5 * (high - low), rtol=1e-5)
    found = steps(env)
    assert found.out_of_bounds[-1] and not found.out_of_bounds[0]
    assert (found.state <= np.asarray(env.pure.bounds.high)).all()
    assert not steps(ModelEnv(STILL, cart.CART, data)).out_of_bounds.any()
    flat = dataclasses.replace(data, observations=data.observations * [1.0, 0.0])
    env = ModelEnv(STILL, cart.CART, flat)  # a constant dimension that moves a little
    assert not steps(env, actions=0.0005).out_of_bounds.any()


def test_leaving_the_bounds_terminates_with_the_loss_of_200_steps(data: Episodes):
    clipped, ended = (
        steps(ModelEnv(FAST, cart.CART, data, out_of_bounds=rule)) for rule in ("clip", "terminate")
    )
    first = int(np.argmax(clipped.out_of_bounds))
    assert not clipped.terminated[first]
    assert ended.terminated[: first + 1].tolist() == [False] * first + [True]
    np.testing.assert_array_equal(ended.reward[:first], clipped.reward[:first])
    assert data.rewards is not None
    lowest = data.rewards.min()
    assert ended.reward[first] == pytest.approx(200 * lowest, rel=1e-5)
    env = ModelEnv(
        FAST,
        cart.CART,
        data,
        out_of_bounds="terminate",
        uncertainty_penalty=0.1,
        uncertainty="std",
    )
    std = np.linalg.norm([0.1, 0.2] / np.asarray(env.pure.observation_std))
    penalty = 0.1 * (data.rewards.max() - lowest) * std
    left = steps(env).reward[first]
    assert left == pytest.approx(200 * (lowest - penalty), rel=1e-4)


def test_leaving_does_not_pay_where_all_rewards_are_positive(data: Episodes):
    good = dataclasses.replace(cart.CART, reward=lambda *_: jnp.array(0.8))
    found = RewardStatistics.of(dataclasses.replace(data, rewards=None), good)
    assert (float(found.lowest), float(found.range)) == (pytest.approx(0.8), 1.0)
    assert float(leaving_reward(found.lowest, 0.0)) == 0.0
    assert float(leaving_reward(found.lowest, 0.5)) == -100.0
    assert float(leaving_reward(jnp.array(-2.0), 0.5)) == -500.0
    none = RewardStatistics.of(None, cart.CART)
    assert (float(none.lowest), float(none.range)) == (0.0, 1.0)


def test_an_episode_ends_where_the_next_state_is_not_finite(data: Episodes):
    found = steps(unbounded(BROKEN, data), actions=1.0)
    assert found.not_finite.all() and found.truncated.all() and not found.terminated.any()
    np.testing.assert_array_equal(found.state, np.broadcast_to(AT_ONE, (STEPS, 2)))
    assert data.rewards is not None
    np.testing.assert_allclose(found.reward, data.rewards.min(), rtol=1e-5)
    ended = steps(ModelEnv(BROKEN, cart.CART, data, out_of_bounds="terminate"))
    assert ended.terminated.all() and not ended.truncated[0]
    np.testing.assert_allclose(ended.reward, 200 * data.rewards.min(), rtol=1e-5)


def test_samples_have_the_standard_deviation_of_the_model(data: Episodes):
    env = unbounded(cart.model(), data, propagation="sample").pure
    begin = env.reset(KEY)._replace(state=jnp.asarray(AT_ONE), observation=jnp.asarray(AT_ONE))
    many = jax.jit(jax.vmap(lambda key: env.step(begin, jnp.zeros(1), key)[1].state))
    states = np.asarray(many(jax.random.split(KEY, 4000)))
    np.testing.assert_allclose(states.mean(axis=0), cart.A @ AT_ONE, atol=0.01)
    np.testing.assert_allclose(states.std(axis=0), [0.1, 0.2], rtol=0.05)


def test_observation_noise_changes_observations_and_nothing_else(data: Episodes):
    noisy = unbounded(cart.model(), data, observation_noise=0.5).pure
    begin = noisy.reset(KEY)
    np.testing.assert_array_equal(begin.observation, begin.state)  # recorded, so noisy already
    exact, found = steps(unbounded(cart.model(), data), actions=1.0), steps(noisy, actions=1.0)
    np.testing.assert_array_equal(found.state, exact.state)
    np.testing.assert_array_equal(found.reward, exact.reward)
    np.testing.assert_array_equal(exact.observation, exact.state)
    begin = begin._replace(state=jnp.asarray(AT_ONE))
    many = jax.jit(jax.vmap(lambda key: noisy.step(begin, jnp.zeros(1), key)[0].observation))
    seen = np.asarray(many(jax.random.split(KEY, 4000)))
    np.testing.assert_allclose(seen.mean(axis=0), cart.A @ AT_ONE, atol=0.01)
    np.testing.assert_allclose(seen.std(axis=0), [0.05, 0.1], rtol=0.05)


def test_penalties_by_hand(data: Episodes):
    both = Model(APART, cart.SIGNALS, "cart")
    at = jnp.asarray(AT_ONE), jnp.zeros(1)

    def penalty(data: Episodes | None, **settings) -> float:
        env = ModelEnv(both, cart.CART, data, bounds=None, **settings).pure
        rewards = (env.reward_function(*at, at[0]), env.reward(*at, at[0]))
        taken = float(env.penalty(*at))
        assert float(rewards[0] - rewards[1]) == pytest.approx(taken, rel=1e-4)
        return taken

    # Each member deviates by 0.1 from their mean. Without data, the unit of rewards is 1.
    assert penalty(None, uncertainty_penalty=2.0) == pytest.approx(2 * np.hypot(0.1, 0.1), rel=1e-4)
    largest = penalty(None, uncertainty_penalty=2.0, uncertainty="std")
    assert largest == pytest.approx(2 * np.hypot(0.1, 0.2), rel=1e-4)
    # With data, it is the range of their rewards, which is also the largest penalty.
    assert data.rewards is not None
    taken = penalty(data, uncertainty_penalty=2.0)
    scaled = penalty(
        dataclasses.replace(data, rewards=1000 * data.rewards), uncertainty_penalty=2.0
    )
    assert taken > 0 and scaled == pytest.approx(1000 * taken, rel=1e-4)
    most = penalty(data, uncertainty_penalty=1e6)
    assert most == pytest.approx(data.rewards.max() - data.rewards.min(), rel=1e-5)


def test_one_member_predicts_a_whole_episode_and_a_broken_one_is_most_uncertain(data: Episodes):
    settings = {"ensemble_mode": "rollout", "uncertainty_penalty": 20.0, "bounds": 1.0}
    members = (APART, Ensemble.of([cart.linear(), BROKEN.dynamics]))
    apart, broken = (
        ModelEnv(
            Model(one, cart.SIGNALS, "cart"), cart.CART, data, settings, out_of_bounds="terminate"
        ).pure
        for one in members
    )

    @jax.jit
    def first_step(env: PureEnv, key: jax.Array) -> EnvStep:
        begin = env.reset(key)._replace(state=jnp.asarray(AT_ONE))
        return env.step(begin, jnp.zeros(1), KEY)[1]

    keys = [jax.random.key(number) for number in range(8)]
    states = [first_step(apart, key).state for key in keys]
    assert {round(float(state[0]), 3) for state in states} == {1.0, 1.2}
    assert float(broken.penalty(jnp.ones(2), jnp.zeros(1))) == float(broken.rewards.range)
    found = [first_step(broken, key) for key in keys]
    assert {bool(step.not_finite) for step in found} == {True, False}
    assert all(np.isfinite(float(step.reward)) for step in found)


def test_data_distance_is_about_one_in_the_data_and_grows_away_from_them():
    data = cart.data(episodes=20, steps=100)
    distance = DataDistance.of(data)
    before, _ = data.transitions()
    found = jax.vmap(distance)(
        jnp.asarray(before[:100], jnp.float32), jnp.asarray(data.actions[:100], jnp.float32)
    )
    assert 0.3 < float(found.mean()) < 2.0
    assert float(distance(jnp.array([100.0, 0.0]), jnp.zeros(1))) > 50


def test_bounds_without_data_come_from_the_range_that_the_model_stores(
    tiny_model: Model, data: Episodes
):
    env = ModelEnv(tiny_model, cart.CART).pure
    np.testing.assert_allclose(env.bounds.low, data.observations.min(axis=0), rtol=1e-5)
    np.testing.assert_allclose(env.bounds.high, data.observations.max(axis=0), rtol=1e-5)
    with pytest.raises(FarstepError, match="training range"):
        ModelEnv(cart.model(), cart.CART)
