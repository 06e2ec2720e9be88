"""Model environments behind the interfaces of Gymnasium."""

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

import cart
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv

NOTHING = np.zeros((3, 1), np.float32)


@pytest.fixture(scope="module")
def env(cart_data: Episodes) -> ModelEnv:
    return ModelEnv(cart.model(), cart.CART, cart_data, propagation="sample")


def test_the_check_of_gymnasium_passes(env: ModelEnv):
    with warnings.catch_warnings():
        # The bounds of the cart are meant; there is no spec, since no id makes the environment.
        warnings.filterwarnings("ignore", ".*(symmetric and normalized|spec).*")
        check_env(env.gymnasium(), skip_render_check=True)


def test_the_vector_env_starts_again_where_episodes_end(env: ModelEnv):
    many = env.vector(3)
    assert many.observation_space.shape == (3, 2) and many.action_space.shape == (3, 1)
    observations, infos = many.reset(seed=5)
    assert infos == {} and many.observation_space.contains(observations)
    rng = np.random.default_rng(0)
    ends = 0
    for step in range(1, 45):
        actions = rng.uniform(-2, 1, (3, 1)).astype(np.float32)
        observations, rewards, terminated, truncated, infos = many.step(actions)
        assert rewards.dtype == np.float64 and observations.dtype == np.float32
        assert not terminated.any()
        assert truncated.all() == (step % 20 == 0)
        if truncated.any():
            ends += 1
            assert infos["_final_obs"].all() and infos["_final_info"].all()
            assert "out_of_bounds" in infos["final_info"]
            final = np.stack(infos["final_obs"])
            assert final.shape == (3, 2) and not np.allclose(final, observations)
        else:
            assert "final_obs" not in infos
    assert ends == 2
    assert many.report(clear=True)["steps"] == 44 * 3
    assert many.report()["steps"] == 0


def test_a_terminated_episode_is_not_a_truncated_one(cart_data: Episodes):
    fast = ModelEnv(
        cart.model(2 * np.eye(2, dtype=np.float32)),
        cart.CART,
        cart_data,
        bounds=None,
        propagation="sample",
    ).vector(3)
    fast.reset(seed=0)
    ended = 0
    for _ in range(6):
        observations, _, terminated, truncated, infos = fast.step(NOTHING)
        assert not truncated.any()
        for number in np.flatnonzero(terminated):
            assert abs(infos["final_obs"][number][0]) > 5 > abs(observations[number][0])
            ended += 1
    assert ended >= 3


def test_seeds_repeat_and_count_up(env: ModelEnv):
    many = env.vector(3)

    def run(seed: Any) -> np.ndarray:
        first, _ = many.reset(seed=seed)
        return np.stack([first, many.step(NOTHING)[0]])

    np.testing.assert_array_equal(run(3), run(3))
    np.testing.assert_array_equal(run([3, 4, 5]), run(3))
    np.testing.assert_array_equal(run([4, 3, 5])[:, 0], run(3)[:, 1])
    assert not np.array_equal(run(3), run(30))
    second = []
    for one in (env.vector(3), env.vector(3)):
        one.reset(seed=[3, 4, 5])
        second.append(one.reset()[0])  # from the generator that the seeds have set
    np.testing.assert_array_equal(*second)
    unseeded = env.vector(3)
    assert len({unseeded.reset()[0].tobytes() for _ in range(20)}) > 1
    single = env.gymnasium()
    np.testing.assert_array_equal(single.reset(seed=1)[0], single.reset(seed=1)[0])


def test_single_environments_fit_the_vector_of_gymnasium(env: ModelEnv):
    both = SyncVectorEnv([env.gymnasium, env.gymnasium])
    observations, _ = both.reset(seed=0)
    after, rewards, *_ = both.step(both.action_space.sample())
    assert after.shape == observations.shape == (2, 2)
    assert not np.array_equal(after, observations)
    assert np.isfinite(rewards).all()


def test_wrong_calls_are_errors(env: ModelEnv):
    many = env.vector(3)
    with pytest.raises(FarstepError, match="reset before step"):
        many.step(NOTHING)
    with pytest.raises(FarstepError, match="seed must have 3"):
        many.reset(seed=[1, 2])
    with pytest.raises(FarstepError, match="reset_mask"):
        many.reset(options={"reset_mask": np.ones(3, bool)})
    with pytest.raises(FarstepError, match="num_envs"):
        env.vector(0)
    many.reset(seed=0)
    with pytest.raises(FarstepError, match=r"shape \(3, 1\)"):
        many.step(NOTHING[:1])


def test_actions_are_clipped_to_their_bounds(env: ModelEnv):
    many = env.vector(3)
    found = []
    for action in (1.0, 7.0):
        many.reset(seed=0)
        found.append(many.step(np.full((3, 1), action, np.float32))[0])
    np.testing.assert_array_equal(*found)


def test_all_environments_of_one_size_share_one_compiled_step(env: ModelEnv):
    first = env.vector(3)
    first.reset(seed=0)
    first.step(NOTHING)
    count = first._stepper._step._cache_size()
    other = env.vector(3)
    for one in (first, other):
        one.reset(seed=1)
        for _ in range(25):
            one.step(NOTHING)
    assert other._stepper._step is first._stepper._step
    assert first._stepper._step._cache_size() == count


def test_data_distance_is_not_measured_in_step_with_short_episodes(cart_data: Episodes):
    """Episodes of 4 steps leave the data in their last ones, which every fourth step would miss."""
    away = cart.model(30 * np.eye(2, dtype=np.float32))
    many = ModelEnv(away, cart.CART, cart_data, bounds=None, max_episode_steps=4).vector(3)
    many.reset(seed=0)
    for _ in range(17 * 4):
        many.step(NOTHING)
    assert many.report()["data_distance"] > 5
