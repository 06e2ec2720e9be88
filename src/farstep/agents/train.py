"""train: an imagined or a real system in, a policy out."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from farstep.agents.config import KEEP_BEST, ONLINE_STEPS, AgentConfig, agent_config, configured
from farstep.agents.files import Agent
from farstep.agents.imagined import ImaginedTraining
from farstep.agents.online import OnlineTraining
from farstep.agents.sac import Learner
from farstep.errors import FarstepError
from farstep.fields import check_least
from farstep.files import locked
from farstep.imagination.imagine import Imagination
from farstep.systems.registry import system as system_named
from farstep.systems.system import System


def train(
    where: Imagination | System | str,
    config: AgentConfig | str | None = None,
    *,
    seed: int = 0,
    start: Agent | None = None,
    out: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> Agent:
    """Train an agent inside a model, or on a real system.

    Args:
        where: What `imagine` gave; or a real system or its name, whose whole trace is then in
            the result's `episodes`.
        config: The settings, or the name of a preset: `paper`, `fast`, `thorough` or `brief`.
            Settings given by name replace its fields.
        seed: The same seed gives the same agent.
        start: An agent that was trained inside a model, to go on from: its networks and optimisers;
            what it remembers is not taken over.
        out: A directory for policies, curve and checkpoints: a training that was killed continues
            from there, to the same result.
        force: Start over where `out` holds another agent.
        **settings: Fields of `AgentConfig`, such as `num_envs=16` or `agent="sb3:SAC"`.
    """
    check_least({"seed": 0}, {"seed": seed})
    folder = None if out is None else Path(out)
    real = not isinstance(where, Imagination)
    if not isinstance(where, (Imagination, System, str)):
        raise FarstepError(
            f"a {type(where).__name__} is no place to train in; give what farstep.imagine "
            "returns, or a real system or its name."
        )
    if "preset" in settings:
        raise FarstepError("the preset is the second argument: train(where, 'fast').")
    if real and config is None:
        settings = {"steps": ONLINE_STEPS, **settings}
    if real and isinstance(config, str):  # it is one, and no model tells which policy is best
        settings = {"keep": "last", "num_envs": 1, **settings}
    if isinstance(config, AgentConfig):
        chosen = configured(config, settings)
    else:
        chosen = agent_config(config or "paper", **settings)
    if chosen.keep == "best" and real:
        raise FarstepError(KEEP_BEST)
    learner = None if start is None else _learner(start, chosen, real)
    # Of two processes that train the same agent, one does, and the other reads what it gave.
    with nullcontext() if folder is None else locked(folder):
        if chosen.agent != "sac":
            from farstep.agents.sb3 import SB3Training

            return SB3Training(_place(where), chosen, seed).run(folder, force)
        if real:
            return OnlineTraining(_place(where), chosen, seed).run(folder, force)  # pyright: ignore[reportArgumentType]
        return ImaginedTraining(where, chosen, seed, learner).run(folder, force)  # pyright: ignore[reportArgumentType]


def _place(where: Imagination | System | str) -> Imagination | System:
    return system_named(where) if isinstance(where, str) else where


def _learner(start: Agent, config: AgentConfig, real: bool) -> Learner:
    if not isinstance(start, Agent) or start.learner is None or real or config.agent != "sac":
        raise FarstepError(
            "only the built-in agent goes on from another: give one that `train` returned, both "
            "inside a model."
        )
    return start.learner
