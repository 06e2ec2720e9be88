"""Agent: the policies and the learning curve that training returns, and their directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from farstep.agents.config import AgentConfig
from farstep.agents.learning_curve import AgentCurve
from farstep.agents.sac import Learner
from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.models.contract import Dynamics
from farstep.models.description import describe_dynamics
from farstep.storage import tensors
from farstep.storage.files import publish
from farstep.storage.fingerprint import qualified_name
from farstep.storage.run_directory import RunDirectory
from farstep.systems.network_policy import POLICY_FILE, NetworkPolicy, load_policy
from farstep.systems.system import System

BEST_FILE = "best.safetensors"
"""The policy with the highest real return of all evaluations."""
TRACE_FILE = "episodes.npz"
"""Every episode of training on a real system, as a dataset."""
_LEARNER_FILE = "learner.safetensors"


@dataclass(frozen=True, repr=False)
class Agent:
    """A trained agent."""

    policy: NetworkPolicy
    """The last policy; with `keep="best"` the one with the highest penalised imagined return."""
    best: NetworkPolicy
    """The policy with the highest real return of all evaluations; the last one without them."""
    curve: AgentCurve
    """One row for each evaluation."""
    episodes: Episodes | None = None
    """Every episode of the training, if it was on a real system."""
    learner: Learner | None = field(default=None, compare=False)
    """Networks and optimisers, to continue from (`start=agent`), if it was in a model."""

    @property
    def real_return(self) -> float | None:
        """The real return of `policy` when it was evaluated in training; None if it was not."""
        return self._evaluated.get("real_return")

    @property
    def imagined_return(self) -> float | None:
        """The return of `policy` in the model, without penalty; None on a real system."""
        return self._evaluated.get("imagined_return")

    @property
    def _evaluated(self) -> dict[str, float | None]:
        """The row of the learning curve in which `policy` was evaluated."""
        return self.curve.of_policy(self.policy.record.get("agent", {}).get("keep", "last"))

    def __repr__(self) -> str:
        shown = {name: self._evaluated.get(name) for name in ("steps", "updates", "real_return")}
        return f"Agent for {self.policy.system}: {shown}"


def agent_directory(
    env: ModelEnv | System,
    config: AgentConfig,
    seed: int,
    start: Learner | None,
    out: Path | None,
    force: bool,
) -> RunDirectory:
    """Return the directory of a training, with everything that the agent depends on."""
    system = env.system if isinstance(env, ModelEnv) else env
    described: dict[str, Any] = {"agent": config, "seed": seed, "system": _describe(system)}
    data, outputs = {}, [POLICY_FILE, BEST_FILE, _LEARNER_FILE]
    if isinstance(env, ModelEnv):
        described |= {"env": env.config, "model": _describe_dynamics(env.pure.dynamics)}
        arrays = tensors.to_arrays((env.pure, env.evaluation_env.initial_states))
        data["model"] = tensors.digest(arrays)
    else:
        outputs.append(TRACE_FILE)
    if start is not None:
        data["start"] = tensors.digest(tensors.to_arrays(start))
    return RunDirectory(out, "agent", described, data, outputs=outputs, force=force)


def read_agent(run: RunDirectory, learner: Learner | None = None) -> Agent | None:
    """Return the agent of a finished run; None if it is not finished.

    Args:
        run: The run.
        learner: A learner of the same shapes; without it none is read.
    """
    result = run.result()
    if result is None or run.path is None:
        return None
    policy, best = (load_policy(run.path / name) for name in (POLICY_FILE, BEST_FILE))
    with tensors.understood(run.path, "agent"):
        agent = Agent(policy, best, AgentCurve.from_json(result["curve"]))
    if (path := run.path / TRACE_FILE).exists():
        return replace(agent, episodes=read_dataset(path))
    path = run.path / _LEARNER_FILE
    if learner is None or not path.exists():
        return agent
    arrays, _ = tensors.decode(path, "learner")
    with tensors.understood(path, "learner"):
        return replace(agent, learner=tensors.from_arrays(learner, arrays))


def store_agent(run: RunDirectory, agent: Agent) -> Agent:
    """Write both policies and the learner, then the result, and return the agent."""
    if run.path is not None:
        run.save_config()
        agent.policy.save(run.path / POLICY_FILE, force=True)
        agent.best.save(run.path / BEST_FILE, force=True)
        if agent.learner is not None:
            content = tensors.encode(tensors.to_arrays(agent.learner), {})
            publish(run.path / _LEARNER_FILE, {"": content}, force=True)
    run.finish({"curve": agent.curve.to_json()})
    return agent


def _describe(system: System) -> dict[str, Any]:
    """Return what identifies a system; its functions by their names, not by their source."""
    functions = {name: getattr(system, name) for name in ("reward", "terminated", "reset")}
    return {
        "name": system.name,
        "env_id": system.env_id,
        "env_kwargs": {name: _plain(value) for name, value in system.env_kwargs.items()},
        "max_episode_steps": system.max_episode_steps,
        "signals": system.signals.to_json(),
        "angles": system.angles,
        **{name: one and qualified_name(one) for name, one in functions.items()},
    }


def _plain(value: Any) -> Any:
    return (
        value if isinstance(value, (bool, int, float, str, list, tuple, Mapping)) else repr(value)
    )


def _describe_dynamics(dynamics: Dynamics) -> Any:
    try:
        return describe_dynamics(dynamics)
    except FarstepError:  # a function of the user's own
        return qualified_name(getattr(dynamics, "function", dynamics))
