"""The settings of agents: presets, values that make no sense, and what an algorithm uses."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

import cart
from farstep.agents.agent import Agent
from farstep.agents.config import PRESETS, AgentConfig, agent_config
from farstep.agents.train_agent import train_agent
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv

OTHERS = ("sb3:TD3", "sb3:DDPG", "sb3:PPO", "sb3:A2C")


@pytest.fixture
def env(cart_data: Episodes) -> ModelEnv:
    return ModelEnv(cart.model(), cart.CART, cart_data)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"steps": 1}, "steps"),
        ({"gamma": 1.5}, "gamma"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"net_arch": ()}, "net_arch"),
        ({"ent_coef": -1.0}, "ent_coef"),
        ({"algorithm": "sca"}, "'sac'"),
        ({"algorithm": "sb3:DQN"}, "sb3:DQN"),
        ({"ema_decay": 1.0}, "ema_decay"),
        ({"ema_decay": 0.9, "algorithm": "sb3:SAC"}, "sb3:SAC does not use ema_decay"),
        ({"keep": "best", "algorithm": "sb3:SAC"}, "sb3:SAC does not use keep"),
        ({"stpes": 3}, "'steps'"),
        ({"preset": "paper"}, "preset"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(env: ModelEnv, settings: Any, named: str):
    with pytest.raises(FarstepError, match=named):
        train_agent(env, cart.TINY, **settings)


def test_a_preset_can_be_changed_in_every_way_that_settings_are_given():
    assert agent_config() == PRESETS["default"]
    assert agent_config("paper") == agent_config(None, "paper") == AgentConfig()
    changed = dataclasses.replace(PRESETS["long"], steps=1000, net_arch=(8,))
    assert agent_config("long", steps=1000, net_arch=(8,)) == changed
    assert agent_config({"preset": "long", "steps": 1000}, net_arch=(8,)) == changed
    assert agent_config(changed, steps=2000).steps == 2000
    assert agent_config("paper", ent_coef=0.1).ent_coef == 0.1
    with pytest.raises(FarstepError, match="'fast'"):
        agent_config("fest")


def test_the_warm_up_is_at_most_a_seventh_of_all_steps():
    assert AgentConfig(steps=500_000).warm_up == 100
    assert AgentConfig(steps=70).warm_up == 10
    assert AgentConfig(steps=2).warm_up == 1
    for preset in PRESETS.values():  # none of them is shortened
        assert preset.warm_up == preset.learning_starts


@pytest.mark.parametrize("name", OTHERS)
def test_settings_that_an_algorithm_does_not_use_are_reset_or_refused(name: str):
    default = PRESETS["default"]
    assert agent_config("default", algorithm=name) == AgentConfig(
        algorithm=name, steps=default.steps, num_envs=default.num_envs, gamma=default.gamma
    )
    cases: list[dict[str, Any]] = [{"gradient_steps": 2}, {"learning_rate": 3e-4}]
    for given in cases:
        with pytest.raises(FarstepError, match=f"{name} does not use {next(iter(given))}"):
            agent_config("default", algorithm=name, **given)


def test_sac_of_stable_baselines3_keeps_all_but_two_settings():
    default = PRESETS["default"]
    expected = {**vars(default), "algorithm": "sb3:SAC", "keep": "last", "ema_decay": None}
    assert vars(agent_config("default", algorithm="sb3:SAC")) == expected


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"num_envs": 2}, "num_envs"),
        ({"keep": "best"}, "keep='best'"),
        ({"algorithm": "sb3:SAC", "num_envs": 2}, "num_envs"),
        ({"preset": "fest"}, "'fast'"),
    ],
)
@pytest.mark.parametrize("config", [None, "fast", "mapping"])
def test_settings_that_need_a_model_are_refused_on_a_real_system(
    config: Any, settings: dict[str, Any], named: str
):
    if config == "mapping" or "preset" in settings:
        config, settings = settings, {}
    with pytest.raises(FarstepError, match=re.escape(named)):
        train_agent(cart.CART, config, **settings)


def test_wrong_environments_and_starts_are_refused(env: ModelEnv, tiny_agent: Agent):
    with pytest.raises(FarstepError, match="flat Box"):
        train_agent("CartPole-v1")
    unbounded = dataclasses.replace(cart.SIGNALS, action_high=(np.inf,))
    with pytest.raises(FarstepError, match="bounds"):
        train_agent(dataclasses.replace(cart.CART, signals=unbounded))
    online = dataclasses.replace(tiny_agent, learner=None)
    with pytest.raises(FarstepError, match="start"):
        train_agent(env, cart.TINY, start=online)
    with pytest.raises(FarstepError, match="start"):
        train_agent(cart.CART, start=tiny_agent)
    with pytest.raises(FarstepError, match="start"):
        train_agent(env, algorithm="sb3:SAC", start=tiny_agent)
    with pytest.raises(FarstepError, match="net_arch"):
        train_agent(env, cart.TINY, net_arch=(8,), start=tiny_agent)
