"""What the loops share: settings as users give them, and results as files."""

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from farstep.agents.config import AgentConfig, agent_config, configured, takes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import changed, replaced
from farstep.files import publish
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.settings import fit_settings
from farstep.imagination.config import ImagineConfig
from farstep.model import Model
from farstep.packages import require
from farstep.runs.pool import run_all
from farstep.systems.registry import code_of
from farstep.systems.system import System
from farstep.weights import Profile

BRANCHED = ImagineConfig(starts="any", rollout=300)
"""Where the loops' agents live unless something else is said: in short episodes from any recorded
state they see more of the system than in whole ones from its first states."""
AMONG_SEVERAL = replace(BRANCHED, choice="rollout", beyond="end", noise=0.8)
"""The same in an ensemble: what earns in one member alone, beyond the data, or with sensors better
than the real ones, does not pay. Without noise in the data there is next to none of it here."""
CAREFUL = replace(AMONG_SEVERAL, penalty=20.0)
"""The same where no real episode will correct the model: the agent keeps to what it knows. A loop
learns from going beyond."""


def model_settings(
    config: FitConfig | str, settings: Mapping[str, Any]
) -> tuple[FitConfig, Profile]:
    """Return the settings of a fit whose model an agent can be trained in, and its weights."""
    base, weights = fit_settings(config, settings)
    if base.stride != 1:
        raise FarstepError("an agent needs a model of single steps; leave stride at 1.")
    _check_found(base, weights)
    return base, weights


def _check_found(config: FitConfig, weights: Profile) -> None:
    """Fail if weights are not what their text means: fits of the loops go by that."""
    with suppress(FarstepError):
        if fit_settings(config, {})[1] == weights:
            return
    raise FarstepError(
        f"weights '{weights.text}' cannot be imported by that name, and a loop's fits do so; "
        "define the function at the top level of a module, not as a lambda."
    )


def agent_settings(
    agent: AgentConfig | str | Mapping[str, Any], usual: str = "thorough"
) -> AgentConfig:
    """Return the agent's settings, checked: a preset's name, changes to the usual one, or all."""
    if isinstance(agent, AgentConfig):
        chosen = configured(agent, {})
    else:
        settings = {"preset": agent} if isinstance(agent, str) else {"preset": usual, **agent}
        chosen = agent_config(**settings)
    if chosen.agent != "sac":
        require("sb3")
    return chosen


def imagine_settings(
    given: ImagineConfig | Mapping[str, Any] | None,
    members: int,
    among_several: ImagineConfig = AMONG_SEVERAL,
) -> ImagineConfig:
    """Return the imagined system's settings, checked against a model of some members."""
    usual = among_several if members > 1 else BRANCHED
    if isinstance(given, Mapping) and given.get("bounds", 0.0) is None:
        usual = replace(usual, beyond="clip")  # without bounds nothing is beyond them
    own = isinstance(given, ImagineConfig)
    chosen = replaced(given, {}) if own else replaced(usual, given or {})
    chosen.check()
    chosen.check_members(members)
    return chosen


def learns_reward(how: ImagineConfig, system: System) -> bool:
    """Return whether the reward has to be learned from the data."""
    return how.reward == "learned" or (how.reward is None and system.reward is None)


@runtime_checkable
class Seed(Protocol):
    """One seed of a loop: frozen, to be hashed and sent to a worker."""

    def run(self, folder: Path) -> Any:
        """Return its result; stages that `folder` holds already are not done again."""
        ...


def run_seeds(seeds: Sequence[Seed], folder: Path, workers: int) -> list[Any]:
    """Return the result of each, in processes of one thread each; 1 runs in this one."""
    if workers == 1:
        return [one.run(folder) for one in seeds]
    found = run_all(seeds, partial(_run, folder), min(workers, len(seeds)))
    return [found[one] for one in seeds]


def _run(folder: Path, one: Seed) -> Any:
    return one.run(folder)


def told(
    fit: FitConfig, agent: AgentConfig, imagination: ImagineConfig, system: str | None = None
) -> dict[str, Any]:
    """Return what the settings of a loop are told by, for its identity."""
    code = code_of(system)
    return {
        "fit": changed(fit, PAPER),
        "agent": changed(agent, AgentConfig()),
        "imagination": changed(imagination, ImagineConfig()),
        **({"code": code} if code else {}),
    }


def fit_seconds(model: Model) -> float:
    """Return how long a model was fitted, all members together."""
    return float(sum(sum(curve["seconds"]) for curve in model.record.get("curves", [])))


def described(fit: FitConfig, agent: AgentConfig) -> str:
    """Return the budgets of a loop's models and agents, in words."""
    length = f"{fit.epochs} epochs" if fit.epochs else f"{fit.compositions} compositions"
    ahead = f"h up to {fit.horizon}" if fit.weights == "auto" else f"h = {fit.horizon}"
    several = f", {fit.members} members" if fit.members > 1 else ""
    settle = f", {fit.settle} steps to settle" if fit.settle else ""
    return f"{ahead}, weights {fit.weights}, {length} a fit{several}{settle}; {agent_budget(agent)}"


def agent_budget(agent: AgentConfig) -> str:
    """Return how much an agent is trained, in words."""
    budget = f"{agent.agent}, {agent.steps} steps in {agent.num_envs} imagined system(s)"
    if not takes(agent.agent, "gradient_steps"):
        return budget
    waits = f" from step {agent.learning_starts} on"
    return f"{budget}, {agent.gradient_steps} update(s) after each step of all{waits}"


def imagined_where(how: ImagineConfig) -> str:
    """Return where imagined episodes start, how they are seen and what they cost, in words."""
    length = f"episodes of {how.rollout} steps" if how.rollout else "whole episodes"
    start = {"first": "the data's first states", "any": "any recorded state"}
    where = f"{length} from {start.get(how.starts, 'the reset of the system')}"
    member = {"step": "a random member each step", "rollout": "one member an episode"}
    noise = f"seen with noise of {how.noise:g}" if how.noise else ""
    ends = "ending beyond the data's range" if how.beyond == "end" else ""
    penalty = f"a penalty of {how.penalty:g} on {how.uncertainty}" if how.penalty else ""
    parts = (where, member.get(how.choice or "", ""), noise, ends, penalty)
    return ", ".join(part for part in parts if part)


def learned_note(how: ImagineConfig, system: System) -> list[str]:
    """Return what there is to say of a reward that had to be learned."""
    if learns_reward(how, system) and how.reward is None:
        return [f"the reward of system '{system.name}' is not known; it was learned."]
    return []


def own_notes(noticed: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return what Farstep warned of; what others did is shown as it was."""
    for one in noticed:
        if not issubclass(one.category, DataWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return [str(one.message) for one in noticed if issubclass(one.category, DataWarning)]


def read_result(path: Path, identity: str) -> dict[str, Any] | None:
    """Return a result that was stored whole, of these very settings and data."""
    try:
        result = json.loads(path.read_text())
        return result if result["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Store a result, atomically."""
    text = json.dumps(result, indent=1, allow_nan=False)
    publish(path, {"": text.encode()}, force=True)
