"""One contract over every registered system, and each system's own promises."""

from collections.abc import Callable
from functools import cache

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.systems import SYSTEMS
from farstep.systems.collect import collect
from farstep.systems.registry import get_system

CLEAN, NOISY = SYSTEMS["cartpole-swingup"], SYSTEMS["cartpole-swingup-noisy"]
NOISE = NOISY.kwargs or {}
STD = NOISE["observation_noise"] * np.array(NOISE["ranges"])

# Gymnasium warns of unbounded observations and of actions beyond [-1, 1].
unusual_spaces = pytest.mark.filterwarnings(
    "ignore:.*A Box observation space m..imum value is .?infinity",
    "ignore:.*we recommend using a symmetric and normalized space",
)


# Potential over kinetic energy of the pole: g / (½ L) for the rod and g / L for the bob.
STIFFNESS = {5: 1.5 * 9.81, 3: 2 * 9.81}


class Swinging:
    """Pumps energy into the pole up to what standing upright takes, with some random pushes."""

    def reset(self, seed: np.random.SeedSequence) -> None:
        self.rng = np.random.default_rng(seed)

    def predict(self, observation: np.ndarray) -> np.ndarray:
        cart = len(observation) == 5
        cos, velocity = observation[1 if cart else 0], observation[-1]
        missing = STIFFNESS[len(observation)] * (1 - cos) - velocity**2 / 2
        push = np.sign(missing * velocity) * (-np.sign(cos) if cart else 1.0)
        if cart:
            push -= 0.5 * observation[0] + 0.2 * observation[3]  # stay on the rail
        return np.clip([0.9 * push + 0.3 * self.rng.uniform(-1, 1)], -1, 1)


@pytest.fixture(scope="module")
def recorded() -> Callable[[str, str, int], Episodes]:
    """Return random or swinging episodes of a system, each set collected once."""

    @cache
    def get(name: str, policy: str, episodes: int) -> Episodes:
        acting = Swinging() if policy == "swinging" else "random"
        return collect(name, acting, episodes=episodes, seed=1)

    return get


@unusual_spaces
@pytest.mark.parametrize("name", SYSTEMS)
def test_gymnasiums_checker_passes(name: str):
    env = get_system(name).make()
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    assert isinstance(env.spec.entry_point, str)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_parts_of_a_system_fit_together(name: str):
    system = get_system(name)
    system.check_known_parts()
    assert system.name == name
    assert get_system(str(system.env_id)) is system
    assert system.signals.interval is not None
    env = system.make()
    assert isinstance(env.action_space, gymnasium.spaces.Box)
    np.testing.assert_allclose(env.action_space.low, system.signals.action_low)
    np.testing.assert_allclose(env.action_space.high, system.signals.action_high)
    observation = jnp.asarray(env.reset(seed=0)[0])
    action = jnp.asarray(np.zeros(system.signals.num_actions, np.float32))
    assert system.terminated is not None
    assert not system.terminated(observation, action, observation)
    for cos, sin in system.angles:
        assert observation[cos] ** 2 + observation[sin] ** 2 == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("name", SYSTEMS)
def test_resets_are_distributed_as_the_environments(name: str):
    system = get_system(name)
    assert system.reset is not None
    ours = np.asarray(jax.jit(jax.vmap(system.reset))(jax.random.split(jax.random.key(1), 300)))
    env = system.make()
    theirs = np.stack([env.reset(seed=seed)[0] for seed in range(300)])
    error = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    assert (error <= 5 * theirs.std(axis=0) * np.sqrt(2 / 300) + 1e-6).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.25, atol=1e-4)
    assert ours.dtype == np.float32


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_seed_is_the_same_episode(name: str):
    system = get_system(name)

    def rollout(seed: int) -> np.ndarray:
        env = system.make()
        action = np.full(system.signals.num_actions, 0.3, np.float32)
        return np.stack([env.reset(seed=seed)[0], *(env.step(action)[0] for _ in range(20))])

    np.testing.assert_array_equal(rollout(5), rollout(5))
    assert not np.array_equal(rollout(5), rollout(6))


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_oracle_repeats_the_simulator(name: str, recorded: Callable):
    make = get_system(name).make_oracle
    assert make is not None
    data = recorded(name, "random", 1)
    observations = data.observations
    if data.clean_observations is not None:
        observations = data.clean_observations
    steps = 20
    starts = np.arange(0, len(data.actions) - steps + 1, steps)
    actions = np.stack([data.actions[start : start + steps] for start in starts])
    expected = np.stack([observations[start + 1 : start + steps + 1] for start in starts])
    predicted = make()(observations[starts], actions)
    assert predicted.dtype == observations.dtype
    np.testing.assert_allclose(predicted, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(("policy", "episodes"), [("random", 1), ("swinging", 3)])
@pytest.mark.parametrize("name", ["cartpole-swingup", "pendulum-swingup"])
def test_rewards_agree_with_the_simulators(
    name: str, policy: str, episodes: int, recorded: Callable
):
    data = recorded(name, policy, episodes)
    np.testing.assert_allclose(get_system(name).rewards_of(data), data.rewards, atol=1e-5)
    if policy == "swinging":  # it swings up, so that every part of the reward is seen
        heights = data.observations[:, data.signals.observation_names.index("cos_angle")]
        assert heights.min() < -0.9
        assert heights.max() > 0.995
        assert data.rewards.max() > 0.5
        assert np.abs(data.observations[:, -1]).max() < 20


@pytest.mark.parametrize(("name", "error"), [("swimmer", 0.02), ("half-cheetah", 0.2)])
def test_locomotion_rewards_follow_the_observed_velocity(
    name: str, error: float, recorded: Callable
):
    data = recorded(name, "random", 1)
    difference = get_system(name).rewards_of(data) - data.rewards
    assert np.abs(difference).mean() < error
    assert abs(difference.mean()) < error / 10


def test_observation_noise_has_the_stated_distribution(recorded: Callable):
    data = recorded("cartpole-swingup-noisy", "random", 2)
    noise = (data.observations - data.clean_observations) / STD
    n = len(noise)
    assert np.abs(noise.mean(axis=0)).max() < 5 / np.sqrt(n)
    assert np.abs(noise.std(axis=0) - 1).max() < 5 / np.sqrt(2 * n)
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < 5 / np.sqrt(n)
    assert np.abs((noise[1:] * noise[:-1]).mean(axis=0)).max() < 5 / np.sqrt(n)


def test_observation_noise_changes_neither_simulator_nor_reward():
    clean = gymnasium.make(CLEAN.env_id)
    noisy = gymnasium.make(NOISY.env_id, observation_noise=0.5)
    first, (seen, info) = clean.reset(seed=4)[0], noisy.reset(seed=4)
    np.testing.assert_array_equal(info["clean_observation"], first)
    assert np.abs(seen - first).max() > 0.1
    for action in np.random.default_rng(0).uniform(-1, 1, (50, 1)).astype(np.float32):
        observation, reward, *_ = clean.step(action)
        seen, noisy_reward, _, _, info = noisy.step(action)
        np.testing.assert_array_equal(info["clean_observation"], observation)
        assert noisy_reward == reward
        assert not np.array_equal(seen, observation)


def test_a_reset_is_as_noisy_as_the_environments_options():
    system = get_system("cartpole-swingup").with_env_kwargs(observation_noise=0.2)
    assert system.reset is not None
    keys = jax.random.split(jax.random.key(1), 300)
    starts = np.asarray(jax.jit(jax.vmap(system.reset))(keys))
    np.testing.assert_allclose(starts.std(axis=0), 20 * STD, rtol=0.2)


def test_other_options_remove_the_parts_that_may_depend_on_them():
    usual = get_system("half-cheetah")
    other = usual.with_env_kwargs(frame_skip=1)
    assert usual.reward and usual.make_oracle and usual.reset and usual.signals.interval
    assert not (other.reward or other.make_oracle or other.reset or other.signals.interval)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"observation_noise": -1.0}, "observation_noise must be 0 or more"),
        ({"observation_noise": 0.1, "ranges": (1.0,)}, "5 ranges"),
        ({"render_mode": "human"}, "render_mode"),
        ({"nois": 1.0}, "'nois'"),
    ],
)
def test_wrong_options_of_the_environment_are_named(options: dict, message: str):
    with pytest.raises(FarstepError, match=message):
        get_system("cartpole-swingup").with_env_kwargs(**options).make()
