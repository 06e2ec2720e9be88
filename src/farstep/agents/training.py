"""What every way of training an agent shares: identity, record, real evaluation, notes."""

import dataclasses
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve
from farstep.agents.networks import Layers
from farstep.dynamics.description import describe_dynamics
from farstep.errors import DataWarning, FarstepError
from farstep.fields import changed, identity_of
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import Imagination
from farstep.packages import versions
from farstep.policy import Policy
from farstep.sources import source_of
from farstep.systems.collect import run_episodes
from farstep.systems.registry import code_of
from farstep.systems.system import System

IMAGINED_EPISODES = 8
"""Side by side, at each evaluation."""
_EVALUATION = 1_000_000
"""Added to the seed, for episodes of their own."""
_MUCH = 0.2
"""Share of steps at the bounds that is worth a warning."""
_VERSIONS = ("farstep", "jax", "optax", "numpy")


def identity(where: Imagination | System, config: AgentConfig, seed: int, start: Any = None) -> str:
    """Return a text that is the same for the same settings, system, model, data and start."""
    system = where.system if isinstance(where, Imagination) else where
    functions = (system.reward, system.terminated, system.reset)
    parts: dict[str, Any] = {
        "agent": changed(config, AgentConfig()),
        "system": [system.name, system.env_id, repr(sorted(system.env_options.items()))],
        "episode_steps": system.episode_steps,
        "signals": system.signals.to_json(),
        "functions": [source_of(function) for function in functions],
        "seed": seed,
    }
    if start is not None:
        parts["start"] = tensors.digest(tensors.to_arrays(start))
    if isinstance(where, Imagination):
        # The user's own, with its constants. A real system may be mended while it is trained on.
        if system.name.partition(":")[0] in sys.modules and (code := code_of(system.name)):
            parts["code"] = code
        parts["imagination"] = changed(where.config, ImagineConfig())
        parts["world"] = tensors.digest(tensors.to_arrays(where.world))
        parts["dynamics"] = _described(where)
    return identity_of(**parts)


def check_real(system: System, config: AgentConfig) -> None:
    """Fail if an agent could not act on a real system."""
    if config.num_envs != 1:
        raise FarstepError("a real system is one; leave num_envs at 1.")
    system.check_bounded()


def _described(imagination: Imagination) -> Any:
    try:
        return describe_dynamics(imagination.world.dynamics)
    except FarstepError:  # a function of the user's own
        return source_of(getattr(imagination.world.dynamics, "function", None))


def record(
    identity: str,
    where: Imagination | System,
    config: AgentConfig,
    seed: int,
    curve: AgentCurve,
    packages: Sequence[str] = _VERSIONS,
) -> dict[str, Any]:
    """Return what is kept with a policy."""
    found: dict[str, Any] = {
        "identity": identity,
        "agent": dataclasses.asdict(config),
        "seed": seed,
        "versions": versions(packages),
        "curve": curve.to_json(),
    }
    if isinstance(where, Imagination):
        found["imagination"] = dataclasses.asdict(where.config)
        found["model"] = where.model.record.get("identity")
    return found


def as_policy(actor: Layers, system: System, record: dict[str, Any]) -> Policy:
    """Return an actor's numbers as a policy for its system."""
    layers = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in actor]
    return Policy(layers, system.signals, system.name, "relu", "squash", record)


def mean_return(system: System, policy: Policy, episodes: int, seed: int) -> float | None:
    """Return the mean return of some real episodes, the same every time.

    None of no episode, or of a system that cannot be run. They are others than those that
    `collect` records with the same seed.
    """
    if not episodes or system.env_id is None:
        return None
    recorded = run_episodes(system, policy, episodes, seed + _EVALUATION)
    return float(np.mean([episode.total for episode in recorded]))


def notes(curve: AgentCurve) -> list[str]:
    """Return what makes the imagined return of a training untrustworthy."""
    bounded, bad = curve.last.get("bounded") or 0.0, np.nansum(curve.column("not_finite"))
    found = []
    if bounded > _MUCH:
        found.append(
            f"the model left the bounds at {bounded:.0%} of the last steps; its agent may live "
            "off being put back. Fit an ensemble, end episodes there (beyond=end), widen the "
            "bounds (bounds=0.1), or fit with a longer horizon."
        )
    if bad:
        found.append(
            f"{int(bad)} imagined episode(s) were cut off because the model gave states or "
            "rewards that are not finite; set bounds, or fit with a longer horizon."
        )
    return found


def say(found: Sequence[str]) -> None:
    """Warn of each."""
    for note in found:
        warnings.warn(note, DataWarning, stacklevel=3)
