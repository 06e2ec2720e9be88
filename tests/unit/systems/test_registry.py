"""Systems are found by name, by Gymnasium id, or in a module of the user's own."""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.systems.collect import collect
from farstep.systems.registry import get_system, names_code, system_of
from farstep.systems.system import System

MODULE = """
import gymnasium
from farstep.data.signals import Signals
from farstep.systems.system import System

class Motor(gymnasium.Env):
    pass

def reset(key):
    return key

tank = System("tank", None, Signals(("level",), ("valve",)), 10)
gymnasium.register("Motor-v0", "own_systems:Motor")
gymnasium.register(
    "Own-v0", "gymnasium.envs.classic_control:PendulumEnv", max_episode_steps=7
)
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a module with a system and two environments into the current directory."""
    (tmp_path / "own_systems.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in ("Motor-v0", "Own-v0"):
        gymnasium.registry.pop(name, None)
    sys.modules.pop("own_systems", None)


def test_an_id_gives_a_system_without_known_parts():
    assert get_system("HalfCheetah-v5").name == "half-cheetah"
    system = get_system("MountainCarContinuous-v0")
    assert (system.reward, system.reset, system.terminated) == (None, None, None)
    assert system.signals.observation_names == ("s0", "s1")
    assert system.signals.action_low == (-1.0,)
    assert system.max_episode_steps == 999


@pytest.mark.usefixtures("own_module")
def test_systems_of_ones_own_are_found_in_a_module():
    tank = get_system("own_systems:tank")
    assert tank.name == "own_systems:tank"
    assert tank.signals.observation_names == ("level",)
    own = get_system("own_systems:Own-v0")
    assert (own.name, own.env_id, own.max_episode_steps) == (own.name, own.name, 7)
    assert collect(own, episodes=1, seed=0).lengths.tolist() == [7]


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cartpole-swing", r"'cartpole-swingup'.*half-cheetah"),
        ("Pendulm-v1", r"'Pendulum-v1'"),
        ("CartPole-v1", r"Box\(4,\) and Discrete\(2\)"),
        ("LunarLanderContinuous-v3", r"'LunarLanderContinuous-v3' cannot be made"),
        (":system", r"no module ''"),
        ("nowhere:system", r"no module 'nowhere'"),
        ("own_systems.py:tank", r"'own_systems\.py'.*'\.py'"),
        ("own_systems:tanks", r"'tanks'.*own_systems:tank'.*Motor-v0"),
        ("own_systems:reset", r"farstep\.System, not a function"),
        ("own_systems:Motr-v0", r"'Motr-v0'.*own_systems:Motor-v0'"),
        ("own_systems:Motor", r"not a type.*own_systems:Motor-v0"),
        ("Motor-v1", r"module:id"),
    ],
)
def test_unknown_names_are_explained(name: str, message: str):
    with pytest.raises(FarstepError, match=message):
        get_system(name)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import gym_of_nobody", "No module named 'gym_of_nobody'"),
        ("def broken(:", "invalid syntax"),
        ("unheard_of + 1", "'unheard_of' is not defined"),
        ("import farstep\nfarstep.Signals(('x', 'x'), ('u',))", "'x'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_explained(
    code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "gym.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FarstepError, match=rf"'gym' cannot be imported: .*{message}"):
        get_system("gym:tank")


def test_only_modules_name_code():
    assert names_code("own_systems:tank")
    assert names_code("own.systems:Own-v0")
    for other in ("cartpole-swingup", "rig: left, 12:30", "a/b:c", "Ant-v5", ":x", "x:"):
        assert not names_code(other)


@pytest.mark.parametrize("collected", ["by hand", {"env_kwargs": "none"}, None])
def test_the_recorded_system_has_its_options(small: Episodes, collected: object):
    metadata = {"collected": collected, "trained": {"env_kwargs": {"observation_noise": 0.5}}}
    data = dataclasses.replace(small, system="cartpole-swingup", metadata=metadata)
    assert system_of(data).env_kwargs == {"observation_noise": 0.5}


def test_a_file_cannot_name_code(small: Episodes):
    for system, message in (("evil:system", r"--system evil:system"), (None, r"--system")):
        with pytest.raises(FarstepError, match=message):
            system_of(dataclasses.replace(small, system=system))
    assert "evil" not in sys.modules
    imported = dataclasses.replace(small, system="cart:CART")  # by the tests themselves
    assert system_of(imported).name == "cart:CART"


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


def test_environments_that_are_only_looked_at_are_closed(left_open: list[gymnasium.Env]):
    wrong = dataclasses.replace(get_system("cartpole-swingup"), env_id="Pendulum-v1")
    with pytest.raises(FarstepError, match=r"'Pendulum-v1'.*5 observation"):
        wrong.make()
    assert left_open == []
    with pytest.raises(FarstepError, match="Box"):
        get_system("CartPole-v1")
    assert left_open == []
    get_system("MountainCarContinuous-v0")
    make_oracle = get_system("swimmer").make_oracle
    assert make_oracle is not None
    assert np.isfinite(make_oracle()(np.zeros((1, 8)), np.zeros((1, 2, 2)))).all()
    assert left_open == []


def test_a_system_without_an_environment_cannot_be_run():
    logged = dataclasses.replace(get_system("cartpole-swingup"), env_id=None)
    assert isinstance(logged, System)
    for run in (logged.make, lambda: collect(logged, episodes=1)):
        with pytest.raises(FarstepError, match="'cartpole-swingup' cannot be run"):
            run()
