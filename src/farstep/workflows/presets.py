"""The configurations of workflows: choices of users, checks, and descriptions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from farstep.agents.config import AgentConfig, agent_config
from farstep.errors import FarstepError
from farstep.model_env.config import PRESETS as ENV_PRESETS
from farstep.model_env.config import ModelEnvConfig
from farstep.model_env.model_env import check_ensemble
from farstep.runtime.machine import require
from farstep.settings import changed, check_choice, replaced
from farstep.systems.system import System
from farstep.training.config import FitConfig
from farstep.training.fit import fit_settings
from farstep.training.weights import profile

FitChoice = FitConfig | str | Mapping[str, Any]
AgentChoice = AgentConfig | str | Mapping[str, Any]
EnvChoice = ModelEnvConfig | str | Mapping[str, Any]


def env_for(config: ModelEnvConfig, ensemble_size: int, default: ModelEnvConfig) -> ModelEnvConfig:
    """Return a configuration that a model of some members can use.

    A single model cannot use settings that need an ensemble. They are then taken to come from the
    default: the result is the preset `branched`, with the settings that differ from the default.
    """
    if ensemble_size == 1:
        try:
            check_ensemble(config, ensemble_size)
        except FarstepError:
            return replaced(ENV_PRESETS["branched"], changed(config, default))
    return config


def chosen_env(given: EnvChoice | None, ensemble_size: int, default: str) -> ModelEnvConfig:
    """Return the model environment's configuration, checked against the size of the ensemble.

    Args:
        given: A configuration, a preset's name, or settings that change a preset.
        ensemble_size: The members of the model; 1 for a single one.
        default: The preset to use where none is named.
    """
    if isinstance(given, ModelEnvConfig):
        config = env_for(given, ensemble_size, ENV_PRESETS[default])
    else:
        settings = dict(given) if isinstance(given, Mapping) else {}
        preset = given if isinstance(given, str) else settings.pop("preset", default)
        check_choice("preset", preset, ENV_PRESETS)
        base = env_for(ENV_PRESETS[preset], ensemble_size, ENV_PRESETS[preset])
        if settings.get("bounds", 0.0) is None:  # without bounds no episode ends there
            settings = {"out_of_bounds": "clip", **settings}
        config = replaced(base, settings)
    check_ensemble(config, ensemble_size)
    return config


def chosen_fit(given: FitChoice, default: str) -> FitConfig:
    """Return a fit's configuration; weights of any kind become a text that workers can read.

    Args:
        given: A configuration, a preset's name, or settings that change a preset; `weights` as for
            `fit`. A function must be importable as `module:function`.
        default: The preset to use where none is named.
    """
    config, weights = fit_settings(given, default=default)
    with suppress(FarstepError):
        if profile(config.weights) == weights:
            return config
    raise FarstepError(
        f"weights '{config.weights}' cannot be imported by that name in another process; define "
        "the function at the top level of a module, not as a lambda."
    )


def chosen_fit_for_agents(given: FitChoice, default: str) -> FitConfig:
    """Return the configuration of a one-step model whose seed the workflow sets."""
    config = chosen_fit(given, default)
    if config.fixed_horizon != 1:
        raise FarstepError(
            f"an agent needs a model of single steps; set fixed_horizon to 1, not "
            f"{config.fixed_horizon}."
        )
    if config.seed != 0:
        raise FarstepError(
            f"the seeds count up from the argument seed: pass seed={config.seed}, and leave the "
            "fit's own seed at 0."
        )
    return config


def chosen_agent(given: AgentChoice, default: str) -> AgentConfig:
    """Return an agent's configuration; fail if its library is not installed."""
    config = agent_config(given, default)
    if config.algorithm != "sac":
        require("sb3")
    return config


def learns_reward(config: ModelEnvConfig, system: System) -> bool:
    """Return whether the model has to learn the reward from the data."""
    return config.reward == "learned" or (config.reward is None and system.reward is None)


def describe_fit(config: FitConfig) -> str:
    """Return how a model is fitted, in words."""
    learned = config.weights == "auto"
    parts = [
        f"h up to {config.horizon}" if learned else f"h = {config.horizon}",
        f"weights {config.weights}",
        f"{config.epochs} epochs" if config.epochs else f"{config.model_steps} model steps",
    ]
    if config.ensemble_size > 1:
        parts.append(f"{config.ensemble_size} members")
    if config.observer_steps:
        parts.append(f"{config.observer_steps} observer steps")
    return ", ".join(parts)


def describe_agent(config: AgentConfig) -> str:
    """Return how long an agent is trained, in words."""
    budget = f"{config.algorithm}, {config.steps} steps in {config.num_envs} environment(s)"
    if not config.uses("gradient_steps"):
        return budget
    return f"{budget}, {config.gradient_steps} update(s) after each, from step {config.warm_up} on"
