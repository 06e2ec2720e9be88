"""One contract over every registered system, and each system's own promises."""

import dataclasses
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests import cart

from farstep.agents.config import AgentConfig
from farstep.agents.training import identity
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.imagination.imagine import imagine
from farstep.systems.collect import collect
from farstep.systems.registration import CARTPOLE, CARTPOLE_NOISY, CARTPOLE_RANGES, NOISE_LEVEL
from farstep.systems.registry import SYSTEMS, code_of, system, system_of

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
EVERY = [*SYSTEMS, "pendulum_system:pendulum"]

# Gymnasium remarks that unbounded observations and actions beyond [-1, 1] are unusual.
unusual_is_fine = pytest.mark.filterwarnings(
    "ignore:.*A Box observation space m..imum value is .?infinity",
    "ignore:.*we recommend using a symmetric and normalized space",
)


# Potential over kinetic energy of the pole: g / (½ L) for the rod and g / L for the bob.
STIFFNESS = {5: 1.5 * 9.81, 3: 2 * 9.81}


def swinging(state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pump energy into the pole up to what standing upright takes, with some random pushes."""
    cos, velocity = (state[1], state[-1]) if len(state) == 5 else (state[0], state[-1])
    missing = STIFFNESS[len(state)] * (1 - cos) - velocity**2 / 2
    push = np.sign(missing * velocity) * (-np.sign(cos) if len(state) == 5 else 1.0)
    if len(state) == 5:
        push -= 0.5 * state[0] + 0.2 * state[3]  # and stay on the rail
    return np.clip([0.9 * push + 0.3 * rng.uniform(-1, 1)], -1, 1)


@pytest.fixture(scope="module")
def recorded() -> Callable[[str, str], Episodes]:
    """Ten random or swinging episodes of a system, 10 000 steps, collected once."""
    known: dict[tuple[str, str], Episodes] = {}

    def get(name: str, policy: str) -> Episodes:
        if (name, policy) not in known:
            acting = swinging if policy == "swinging" else "random"
            known[name, policy] = collect(name, acting, episodes=10, seed=1)
        return known[name, policy]

    return get


@unusual_is_fine
@pytest.mark.parametrize("name", EVERY)
def test_gymnasiums_checker_passes(name: str):
    env = system(name).make()
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    assert isinstance(env.spec.entry_point, str)


@pytest.mark.parametrize("name", EVERY)
def test_the_parts_of_a_system_fit_together(name: str):
    chosen = system(name)
    d, k = chosen.signals.num_states, chosen.signals.num_actions
    assert chosen.reset is not None
    state = chosen.reset(jax.random.key(0))
    action = jnp.zeros(k)
    assert state.shape == (d,)
    assert state.dtype == np.float32
    assert chosen.reward is not None
    assert chosen.reward(state, action, state).shape == ()
    assert chosen.terminated is not None
    assert not chosen.terminated(state, action, state)
    assert chosen.signals.interval is not None
    env = chosen.make()
    np.testing.assert_allclose(env.action_space.low, chosen.signals.action_low)  # type: ignore[attr-defined]
    np.testing.assert_allclose(env.action_space.high, chosen.signals.action_high)  # type: ignore[attr-defined]
    for cos, sin in chosen.angles:
        assert state[cos] ** 2 + state[sin] ** 2 == pytest.approx(1.0, abs=0.2)


def test_a_reset_is_as_noisy_as_the_options_say():
    chosen = system("cartpole-swingup").with_options(noise=0.2)
    assert chosen.reset is not None
    starts = np.asarray(jax.vmap(chosen.reset)(jax.random.split(jax.random.key(1), 400)))
    np.testing.assert_allclose(starts.std(axis=0), 0.2 * np.array(CARTPOLE_RANGES), rtol=0.2)


@pytest.mark.parametrize("name", EVERY)
def test_resets_are_distributed_as_the_environments(name: str):
    chosen = system(name)
    assert chosen.reset is not None
    ours = np.asarray(jax.vmap(chosen.reset)(jax.random.split(jax.random.key(1), 400)))
    env = chosen.make()
    theirs = np.stack([env.reset(seed=seed)[0] for seed in range(400)])
    error = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    assert (error <= 5 * theirs.std(axis=0) * np.sqrt(2 / 400) + 1e-6).all()
    np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), rtol=0.25, atol=1e-4)


@pytest.mark.parametrize("policy", ["random", "swinging"])
@pytest.mark.parametrize("name", ["cartpole-swingup", "pendulum-swingup"])
def test_rewards_agree_with_the_simulators(name: str, policy: str, recorded: Callable):
    data = recorded(name, policy)
    assert data.num_steps == 10_000
    np.testing.assert_allclose(system(name).rewards_of(data), data.rewards, atol=1e-5)
    if policy == "swinging":
        heights = data.states[:, data.signals.state_names.index("cos_angle")]
        assert heights.min() < -0.9
        assert heights.max() > 0.995  # it does swing up, so that all of the reward is seen
        assert data.rewards.max() > 0.5
        assert np.abs(data.states[:, -1]).max() < 20


@pytest.mark.parametrize(("name", "error"), [("swimmer", 0.02), ("half-cheetah", 0.2)])
def test_locomotion_rewards_follow_the_observed_velocity(name: str, error: float):
    data = collect(name, episodes=2, seed=0)
    difference = system(name).rewards_of(data) - data.rewards
    assert np.abs(difference).mean() < error
    assert abs(difference.mean()) < error / 10


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_oracle_repeats_the_simulator(name: str):
    chosen = system(name)
    assert chosen.oracle is not None
    data = collect(name, episodes=1, seed=3)
    states = data.states if data.clean_states is None else data.clean_states
    starts, steps = np.arange(0, 980, 20), 20
    actions = np.stack([data.actions[start : start + steps] for start in starts])
    expected = np.stack([states[start + 1 : start + steps + 1] for start in starts])
    predicted = chosen.oracle()(states[starts], actions)
    assert predicted.dtype == states.dtype
    np.testing.assert_allclose(predicted, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_seed_is_the_same_episode(name: str):
    def rollout(seed: int) -> np.ndarray:
        env = system(name).make()
        states = [env.reset(seed=seed)[0]]
        states += [env.step(np.full(env.action_space.shape, 0.3, np.float32))[0] for _ in range(20)]  # type: ignore[arg-type]
        return np.stack(states)

    np.testing.assert_array_equal(rollout(5), rollout(5))
    assert not np.array_equal(rollout(5), rollout(6))


def test_the_noise_is_as_stated(recorded: Callable):
    data = recorded("cartpole-swingup-noisy", "random")
    noise = (data.states - data.clean_states) / (NOISE_LEVEL * np.array(CARTPOLE_RANGES))
    n = len(noise)
    assert np.abs(noise.mean(axis=0)).max() < 5 / np.sqrt(n)
    assert np.abs(noise.std(axis=0) - 1).max() < 5 / np.sqrt(2 * n)
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < 5 / np.sqrt(n)
    lagged = (noise[1:] * noise[:-1]).mean(axis=0)
    assert np.abs(lagged).max() < 5 / np.sqrt(n)


def test_noise_leaves_the_simulator_and_its_reward_alone():
    clean, noisy = gymnasium.make(CARTPOLE), gymnasium.make(CARTPOLE_NOISY, noise=0.5)
    first, (seen, info) = clean.reset(seed=4)[0], noisy.reset(seed=4)
    np.testing.assert_array_equal(info["clean_state"], first)
    assert np.abs(seen - first).max() > 0.1
    for action in np.random.default_rng(0).uniform(-1, 1, (50, 1)).astype(np.float32):
        state, reward, *_ = clean.step(action)
        seen, noisy_reward, _, _, info = noisy.step(action)
        np.testing.assert_array_equal(info["clean_state"], state)
        assert noisy_reward == reward
        assert not np.array_equal(seen, state)


def test_episodes_last_as_long_as_the_system_says():
    short = dataclasses.replace(system("cartpole-swingup"), episode_steps=7)
    data = collect(short, episodes=2)
    assert data.lengths.tolist() == [7, 7]
    assert data.truncated.all()
    assert not data.terminated.any()


def test_an_unknown_reward_is_said(recorded: Callable):
    plain = system("MountainCarContinuous-v0")
    with pytest.raises(FarstepError, match="reward of system 'MountainCarContinuous-v0' is not"):
        plain.rewards_of(recorded("cartpole-swingup", "random"))


def test_an_environment_is_found_by_its_id_and_without_known_parts():
    assert system("HalfCheetah-v5").name == "half-cheetah"
    plain = system("MountainCarContinuous-v0")
    assert plain.reward is None
    assert plain.terminated is None
    assert plain.signals.state_names == ("s0", "s1")
    assert plain.signals.action_low == (-1.0,)
    assert plain.episode_steps == 999


def test_an_environment_of_ones_own_is_found_by_its_module_and_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "own_environments.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('OwnPendulum-v0', 'gymnasium.envs.classic_control:PendulumEnv', "
        "max_episode_steps=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = "own_environments:OwnPendulum-v0"
    found = system(name)
    assert (found.name, found.env_id, found.episode_steps) == (name, name, 7)
    assert collect(found, episodes=1, seed=0).lengths.tolist() == [7]
    del gymnasium.registry["OwnPendulum-v0"]


def test_a_misspelt_id_of_ones_own_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_motor.py").write_text(
        "import gymnasium\nclass Motor(gymnasium.Env):\n    pass\n"
        "gymnasium.register('Motor-v0', 'own_motor:Motor')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name, said in (
        ("own_motor:Motr-v0", "registers no 'Motr-v0'. Did you mean 'Motor-v0'"),
        ("own_motor:Motor", "is a type, no farstep.System. It registers Motor-v0"),
        ("Motor-v1", "module:id where a module of yours"),
    ):
        with pytest.raises(FarstepError, match=said):
            system(name)
    del gymnasium.registry["Motor-v0"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cartpole-swing", "Did you mean 'cartpole-swingup'.*half-cheetah"),
        ("CartPole-v1", "needs a flat Box"),
        ("LunarLanderContinuous-v3", "cannot be made"),
        (":system", "no module ''"),
        ("nowhere:system", "no module 'nowhere'"),
        ("pendulum_system:pendulums", "Did you mean 'pendulum'"),
        ("pendulum_system:reset", "is a function, no farstep.System"),
    ],
)
def test_unknown_systems_say_what_there_is(name: str, said: str):
    with pytest.raises(FarstepError, match=said):
        system(name)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import gym_of_nobody",
            "module 'gym' cannot be imported: No module named 'gym_of_nobody'",
        ),
        ("def broken(:", "module 'gym' cannot be imported: invalid syntax"),
        ("unheard_of + 1", "module 'gym' cannot be imported: name 'unheard_of' is not defined"),
        (
            "import farstep\nfarstep.Signals(('x', 'x'), ('u',))",
            "module 'gym' cannot be imported: 'x' names two columns",
        ),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(code, said, tmp_path, monkeypatch):
    (tmp_path / "gym.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FarstepError, match=said):
        system("gym:tank")


def test_code_of_ones_own_is_told_by_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    digests, agents = [], []
    renamed = dataclasses.replace(cart.CART, name="edited_system:tank")
    for wanted in ("1.0", "2.5"):  # a constant that a function of the system uses
        (tmp_path / "edited_system.py").write_text(f"WANTED = {wanted}\n")
        monkeypatch.delitem(sys.modules, "edited_system", raising=False)
        importlib.invalidate_caches()
        digests.append(code_of("edited_system:tank"))
        agents.append(identity(imagine(cart.model(), renamed, cart.data()), AgentConfig(), seed=0))
    assert digests[0] != digests[1] and agents[0] != agents[1]
    assert code_of("cartpole-swingup") == code_of("Pendulum-v1") == code_of(None) == ""


@pytest.fixture
def left_open(monkeypatch: pytest.MonkeyPatch) -> list[gymnasium.Env]:
    """Environments that were made and have not been closed."""
    make, left = gymnasium.make, []

    def making(*arguments, **settings) -> gymnasium.Env:
        env = make(*arguments, **settings)
        monkeypatch.setattr(env, "close", lambda: left.remove(env))
        left.append(env)
        return env

    monkeypatch.setattr(gymnasium, "make", making)
    return left


def test_what_is_made_to_look_at_is_closed(left_open: list[gymnasium.Env]):
    wrong = dataclasses.replace(system("cartpole-swingup"), env_id="Pendulum-v1")
    for look in (lambda: system("CartPole-v1"), wrong.make):  # neither can be used
        with pytest.raises(FarstepError, match="Box"):
            look()
        assert left_open == []
    system("MountainCarContinuous-v0")
    oracle = system("swimmer").oracle
    assert oracle is not None
    assert np.isfinite(oracle()(np.zeros((1, 8)), np.zeros((1, 2, 2)))).all()
    assert left_open == []


def test_a_system_without_an_environment_cannot_be_run():
    logged = dataclasses.replace(system("cartpole-swingup"), env_id=None)
    for run in (logged.make, lambda: collect(logged, episodes=1)):
        with pytest.raises(FarstepError, match="'cartpole-swingup' cannot be run"):
            run()


@pytest.mark.parametrize("collected", ["by hand", {"env_options": "none"}, None])
def test_options_are_read_where_there_are_some(small: Episodes, collected: object):
    metadata = {"collected": collected, "trained": {"env_options": {"noise": 0.5}}}
    data = dataclasses.replace(small, system="cartpole-swingup", metadata=metadata)
    assert system_of(data).env_options == {"noise": 0.5}


def test_signals_that_do_not_fit_the_environment_are_an_error():
    wrong = dataclasses.replace(system("cartpole-swingup"), env_id="Pendulum-v1")
    with pytest.raises(FarstepError, match=r"observation space of 'Pendulum-v1'.*5 observation"):
        wrong.make()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"noise": -1.0}, "noise must be 0 or more"),
        ({"noise": 0.1, "ranges": (1.0,)}, "needs 5 ranges"),
        ({"nois": 1.0}, "unexpected keyword argument 'nois'"),
    ],
)
def test_bad_options_of_the_environment_are_errors(options: dict, said: str):
    with pytest.raises(FarstepError, match=said):
        system("cartpole-swingup").with_options(**options).make()


def test_of_other_options_no_more_is_claimed_than_is_known():
    usual = system("half-cheetah")
    other = usual.with_options(frame_skip=1)
    assert usual.reward and usual.oracle and usual.reset and usual.signals.interval
    assert not (other.reward or other.oracle or other.reset or other.signals.interval)
