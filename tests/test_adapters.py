"""Imagined systems behind Gymnasium's and Stable-Baselines3's interfaces."""

import warnings

import numpy as np
import pytest
import stable_baselines3
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecCheckNan, VecMonitor

from cart import CART, data, model
from farstep.errors import FarstepError
from farstep.imagination.imagine import Imagination, imagine


@pytest.fixture(scope="module")
def imagined() -> Imagination:
    return imagine(model(), CART, data(), propagation="sample")


def test_gymnasiums_checker_passes(imagined: Imagination):
    with warnings.catch_warnings():
        # Of the cart's bounds, which are meant; and it has no spec, since no id makes it.
        warnings.filterwarnings("ignore", ".*(symmetric and normalized|spec).*")
        check_env(imagined.env(), skip_render_check=True)


def test_stable_baselines3s_checker_passes(imagined: Imagination):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*symmetric and normalized.*")
        sb3_check_env(imagined.env())


def test_the_vector_env_does_what_single_ones_do(imagined: Imagination):
    many = imagined.vector_env(3)
    assert many.observation_space.shape == (3, 2) and many.action_space.shape == (3, 1)
    states, infos = many.reset(seed=5)
    assert infos == {} and many.observation_space.contains(states)
    rng = np.random.default_rng(0)
    ends = 0
    for step in range(1, 45):
        actions = rng.uniform(-2, 1, (3, 1)).astype(np.float32)
        states, rewards, terminated, truncated, infos = many.step(actions)
        assert rewards.dtype == np.float64 and states.dtype == np.float32
        assert not terminated.any()
        assert truncated.all() == (step % 20 == 0)
        if truncated.any():
            ends += 1
            assert infos["_final_obs"].all()
            final = np.stack(infos["final_obs"])
            assert infos["_final_info"].all() and "bounded" in infos["final_info"]
            assert final.shape == (3, 2) and not np.allclose(final, states)
        else:
            assert "final_obs" not in infos
    assert ends == 2
    assert many.report(clear=True)["steps"] == 44 * 3
    assert many.report()["steps"] == 0


def test_seeds_repeat_and_count_up(imagined: Imagination):
    def run(seed):
        env = imagined.vector_env(2)
        first, _ = env.reset(seed=seed)
        second = env.step(np.zeros((2, 1), np.float32))[0]
        return np.stack([first, second])

    np.testing.assert_array_equal(run(3), run(3))
    np.testing.assert_array_equal(run([3, 4]), run(3))
    np.testing.assert_array_equal(run([4, 3])[:, 0], run(3)[:, 1])
    assert not np.array_equal(run(3), run(30))
    again, other = imagined.vector_env(2), imagined.vector_env(2)
    for env in (again, other):
        env.reset(seed=[3, 4])
    np.testing.assert_array_equal(again.reset()[0], other.reset()[0])
    sb3 = [imagined.sb3_env(2) for _ in range(2)]
    for env in sb3:
        env.seed(7)
        env.reset()
    np.testing.assert_array_equal(sb3[0].reset(), sb3[1].reset())
    unseeded = imagined.vector_env(2)
    assert len({unseeded.reset()[0].tobytes() for _ in range(20)}) > 1
    single = imagined.env()
    np.testing.assert_array_equal(single.reset(seed=1)[0], single.reset(seed=1)[0])


def test_single_ones_fit_gymnasiums_own_vector(imagined: Imagination):
    both = SyncVectorEnv([imagined.env, imagined.env])
    states, _ = both.reset(seed=0)
    assert states.shape == (2, 2)
    after, rewards, *_ = both.step(both.action_space.sample())
    assert after.shape == (2, 2) and not np.array_equal(after, states)
    assert np.isfinite(rewards).all()


def test_a_task_that_ends_is_told_from_one_that_is_cut_off():
    fast = imagine(model(2 * np.eye(2, dtype=np.float32)), CART, bounds=None)
    many = fast.vector_env(2)
    many.reset(seed=0)
    steps = [many.step(np.zeros((2, 1), np.float32)) for _ in range(3)]
    assert steps[2][2].all() and not steps[2][3].any()
    np.testing.assert_allclose(np.stack(steps[2][4]["final_obs"])[:, 0], 8.0)
    np.testing.assert_allclose(steps[2][0][:, 0], 1.0)
    sb3 = fast.sb3_env(2)
    sb3.reset()
    *_, (_, _, done, infos) = [sb3.step(np.zeros((2, 1), np.float32)) for _ in range(3)]
    assert done.all()
    assert infos[0]["TimeLimit.truncated"] is False
    np.testing.assert_allclose(infos[0]["terminal_observation"][0], 8.0)


def test_the_vec_env_records_episodes_and_ends(imagined: Imagination):
    env = VecCheckNan(VecMonitor(imagined.sb3_env(3)), raise_exception=True)
    env.seed(0)
    env.reset()
    total, infos = np.zeros(3), []
    for step in range(1, 21):
        _, reward, done, infos = env.step(np.zeros((3, 1), np.float32))
        total += reward
        assert done.all() == (step == 20)
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert [info["episode"]["l"] for info in infos] == [20, 20, 20]
    np.testing.assert_allclose([i["episode"]["r"] for i in infos], total, rtol=1e-4)
    assert env.get_attr("render_mode") == [None] * 3
    assert env.env_is_wrapped(Monitor) == [False] * 3


def test_what_imagined_systems_have_not_is_said(imagined: Imagination):
    env = imagined.sb3_env(1)
    with pytest.raises(FarstepError, match="cannot be set"):
        env.set_attr("gravity", 1)
    with pytest.raises(FarstepError, match="no method"):
        env.env_method("render")
    many = imagined.vector_env(2)
    with pytest.raises(FarstepError, match="call reset"):
        many.step(np.zeros((2, 1), np.float32))
    with pytest.raises(FarstepError, match="3 seeds were given for 2"):
        many.reset(seed=[1, 2, 3])
    with pytest.raises(FarstepError, match="reset_mask"):
        many.reset(options={"reset_mask": np.ones(2, bool)})
    many.reset(seed=0)
    with pytest.raises(FarstepError, match=r"shape \(2, 1\), not float32 of \(1, 1\)"):
        many.step(np.zeros((1, 1), np.float32))


def test_actions_beyond_the_bounds_are_cut_off(imagined: Imagination):
    plain = imagine(model(), CART, bounds=None)
    at_bound, beyond = plain.env(), plain.env()
    for env in (at_bound, beyond):
        env.reset(seed=0)
    np.testing.assert_array_equal(
        at_bound.step(np.array([1.0], np.float32))[0], beyond.step(np.array([7.0], np.float32))[0]
    )


def test_steps_are_compiled_once(imagined: Imagination):
    env = imagined.vector_env(7)
    env.reset(seed=0)
    before = env._stepper._step._cache_size()
    for _ in range(25):
        env.step(np.zeros((7, 1), np.float32))
    env.reset(seed=1)
    env.step(np.zeros((7, 1), np.float32))
    assert env._stepper._step._cache_size() == before + 1
    other = imagined.vector_env(7)
    other.reset(seed=0)
    other.step(np.zeros((7, 1), np.float32))
    assert other._stepper._step._cache_size() == before + 1


@pytest.mark.parametrize("name", ["PPO", "SAC"])
def test_stable_baselines3_learns_in_it(imagined: Imagination, name: str):
    settings = {"n_steps": 8, "batch_size": 8} if name == "PPO" else {"learning_starts": 8}
    agent = getattr(stable_baselines3, name)(
        "MlpPolicy", imagined.sb3_env(2), device="cpu", seed=0, **settings
    )
    before = {name: value.clone() for name, value in agent.policy.state_dict().items()}
    agent.learn(48)
    after = agent.policy.state_dict()
    assert any(not after[name].equal(value) for name, value in before.items())
    assert all(value.isfinite().all() for value in after.values())
