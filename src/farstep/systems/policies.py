"""What acts while episodes are collected: a policy is (state, random generator) → action."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from farstep.errors import FarstepError, did_you_mean
from farstep.signals import Signals
from farstep.systems.registry import import_attribute

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


def policy_named(name: str, signals: Signals) -> Policy:
    """Return `random`, or a user's own policy given as `module:attribute`."""
    if name == "random":
        if not np.isfinite([*signals.action_low, *signals.action_high]).all():
            raise FarstepError("random actions need bounds on every action; the system has none.")
        return UniformRandom(signals.action_low, signals.action_high)
    if ":" in name:
        found: Policy = import_attribute(name, from_here=True)
        if not callable(found):
            raise FarstepError(f"policy '{name}' is a {type(found).__name__}, not a function.")
        return found
    raise FarstepError(
        f"there is no policy '{name}'. {did_you_mean(name, ['random'])} "
        "module:attribute names a function (state, rng) → action of your own."
    )
