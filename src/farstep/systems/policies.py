"""What acts while episodes are collected: a policy is (state, random generator) → action."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from farstep.errors import FarstepError, did_you_mean
from farstep.policy import load_policy
from farstep.systems.registry import import_attribute, names_code
from farstep.systems.system import System

Policy: TypeAlias = Callable[[np.ndarray, np.random.Generator], np.ndarray]
"""A function of the state (d,) and a random generator that returns an action (k,)."""


@dataclass(frozen=True)
class UniformRandom:
    """Actions drawn uniformly between their bounds, whatever the state."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __call__(
        self, state: Float[np.ndarray, " d"], rng: np.random.Generator
    ) -> Float[np.ndarray, " k"]:
        """Draw one action."""
        del state
        return rng.uniform(self.low, self.high).astype(np.float32)


def policy_named(name: str, system: System) -> Policy:
    """Return `random`, a stored policy by its path, or a user's own as `module:attribute`."""
    signals = system.signals
    if name == "random":
        if not signals.bounded:
            raise FarstepError("random actions need bounds on every action; the system has none.")
        return UniformRandom(signals.action_low, signals.action_high)
    if name.endswith(".safetensors") or Path(name).is_dir():
        stored = load_policy(name)
        stored.check_fits(signals, system.name)
        return stored
    if names_code(name):
        found: Policy = import_attribute(name, from_here=True)
        if not callable(found):
            raise FarstepError(f"policy '{name}' is a {type(found).__name__}, not a function.")
        return found
    raise FarstepError(
        f"there is no policy '{name}'. {did_you_mean(name, ['random'])} "
        "A path to a stored policy (.safetensors) works too, and module:attribute for a function "
        "(state, rng) → action of your own."
    )
