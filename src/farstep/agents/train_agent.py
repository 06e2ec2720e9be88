"""train_agent: a model environment or a real system in, an agent out."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from farstep.agents.agent import Agent, agent_directory, read_agent, store_agent
from farstep.agents.config import AgentConfig, agent_config
from farstep.agents.learning_curve import warn_if_unreliable
from farstep.agents.model_env_trainer import ModelEnvTrainer
from farstep.agents.online_trainer import OnlineTrainer
from farstep.agents.sac import Learner
from farstep.agents.trainer import Trainer
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.runtime.machine import require
from farstep.settings import check_counts
from farstep.systems.registry import get_system
from farstep.systems.system import System


def train_agent(
    env: ModelEnv | System | str,
    config: AgentConfig | str | Mapping[str, Any] | None = None,
    *,
    start: Agent | None = None,
    out: str | Path | None = None,
    force: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Agent:
    """Train an agent in a model, or on a real system.

    Args:
        env: A `ModelEnv`; or a real system or its name. Every episode on a real system is returned
            in the agent's `episodes`.
        config: A configuration, a preset's name (`default`, `fast`, `long`, `paper` or `online`),
            or settings by name, which may contain a `preset`. None takes `default` in a model and
            `online` on a real system.
        start: An agent that was trained in a model, to continue from with its networks and
            optimisers; its replay buffer is not kept.
        out: A directory for policies, curve and checkpoints: a killed training that is run again
            continues there, with a bit-identical result. Agents of Stable-Baselines3 start over.
        force: Start over where `out` holds another agent or an unfinished one.
        seed: The same seed gives the same agent.
        **settings: Fields of `AgentConfig` to replace, such as `num_envs=16` or
            `algorithm="sb3:SAC"`.
    """
    check_counts({"seed": 0}, {"seed": seed})
    if isinstance(env, str):
        env = get_system(env)
    if not isinstance(env, (ModelEnv, System)):
        raise FarstepError(
            f"env must be a ModelEnv, a real system or its name, not a {type(env).__name__}."
        )
    if isinstance(env, System):
        config = _online_config(env, config, settings)
    else:
        config = agent_config(config, **settings)
    learner = None if start is None else _learner(start, env, config)
    trainer = _trainer(env, config, seed, learner)
    run = agent_directory(env, config, seed, learner, None if out is None else Path(out), force)
    with run.open():
        agent = read_agent(run, trainer.learner_shapes)
        agent = store_agent(run, trainer.train(run)) if agent is None else agent
    warn_if_unreliable(agent.curve)
    return agent


def _online_config(
    system: System,
    config: AgentConfig | str | Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> AgentConfig:
    """Return the configuration for a real system; fail if no agent can be trained with it.

    A preset that is named is changed to keep the last policy, and to one environment.
    """
    if not isinstance(config, AgentConfig):
        given = {"preset": config} if isinstance(config, str) else dict(config or {})
        preset = agent_config(given.pop("preset", "online"))
        config = replace(preset, keep="last", num_envs=1)
        settings = {**given, **settings}
    config = agent_config(config, **settings)
    if config.keep == "best":
        raise FarstepError("keep='best' needs a model environment; choose keep='last'.")
    if config.num_envs != 1:
        raise FarstepError(f"num_envs must be 1 on a real system, not {config.num_envs}.")
    system.check_bounded()
    return config


def _learner(start: Agent, env: ModelEnv | System, config: AgentConfig) -> Learner:
    """Return what the training starts from."""
    if not isinstance(start, Agent) or start.learner is None:
        raise FarstepError("start must be an agent that `train_agent` trained in a ModelEnv.")
    if config.algorithm != "sac" or isinstance(env, System):
        raise FarstepError("start is for algorithm='sac' in a ModelEnv; leave it out.")
    return start.learner


def _trainer(
    env: ModelEnv | System, config: AgentConfig, seed: int, start: Learner | None
) -> Trainer:
    """Return the trainer for an environment and an algorithm."""
    if config.algorithm != "sac":
        require("sb3")
        from farstep.agents.sb3_trainer import SB3Trainer

        return SB3Trainer(env, config, seed)
    if isinstance(env, System):
        return OnlineTrainer(env, config, seed)
    return ModelEnvTrainer(env, config, seed, start)
