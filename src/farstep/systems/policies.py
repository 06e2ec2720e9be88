"""Policies: they choose the actions. Every one has `predict`, and some have `reset`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from farstep.errors import FarstepError, did_you_mean
from farstep.storage.fingerprint import qualified_name
from farstep.systems.network_policy import POLICY_FILE, NetworkPolicy, load_policy
from farstep.systems.registry import import_attribute, names_code
from farstep.systems.system import System, check_takes


@runtime_checkable
class Policy(Protocol):
    """Anything that acts."""

    def predict(self, observations: np.ndarray, /) -> Any:
        """Return the action (k,) for an observation (d,), or actions (…, k) for (…, d).

        Of a tuple, as Stable-Baselines3 returns it, the first entry counts.
        """


@runtime_checkable
class ResettablePolicy(Policy, Protocol):
    """A policy with a state or a random generator of its own."""

    def reset(self, seed: np.random.SeedSequence, /) -> None:
        """Begin an episode; `np.random.default_rng(seed)` gives its random generator."""


@dataclass
class RandomPolicy:
    """Draws actions uniformly between their bounds."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin an episode with a random generator of its own."""
        self._rng = np.random.default_rng(seed)

    def predict(self, observations: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n k"]:
        """Draw an action for each observation."""
        size = (*np.shape(observations)[:-1], len(self.low))
        return self._rng.uniform(self.low, self.high, size).astype(np.float32)


@dataclass(frozen=True)
class FunctionPolicy:
    """A function from one observation (d,) to an action (k,)."""

    function: Callable[[np.ndarray], Any]

    def predict(self, observations: Float[np.ndarray, "*n d"]) -> np.ndarray:
        """Call the function for each observation."""
        if np.ndim(observations) == 1:
            return np.asarray(self.function(observations))
        return np.stack([self.predict(one) for one in observations])


def as_policy(given: Any, system: System) -> Policy:
    """Return a policy for a system, checked as far as possible.

    Args:
        given: An object with `predict`, such as `agent.policy`, a planner or a model of
            Stable-Baselines3; a function from an observation to an action; `random`; the path of a
            stored policy or of an agent's directory; or `module:attribute` for one of your own.
        system: The system to act in.
    """
    if isinstance(given, (str, Path)):
        return _policy_named(str(given), system)
    if isinstance(given, NetworkPolicy):
        given.check_fits(system.signals, system.name)
        return given
    if isinstance(given, type):
        raise FarstepError(f"the policy must be an object; call the class {given.__name__} first.")
    if isinstance(given, Policy):
        check_takes(given.predict, (None,), "the policy's predict must take observations alone")
        return given
    if callable(given):
        check_takes(given, (None,), "a function that acts must take observations alone")
        return FunctionPolicy(given)
    raise FarstepError(
        f"the policy must have a method predict(observations), or be a function of an observation, "
        f"not a {type(given).__name__}; of an agent, pass agent.policy."
    )


def random_policy(system: System) -> RandomPolicy:
    """Return the policy that draws actions uniformly between the system's bounds."""
    system.check_bounded("a random policy")
    return RandomPolicy(system.signals.action_low, system.signals.action_high)


def policy_fingerprint(given: Any) -> str:
    """Return a text that differs between policies.

    That is a network's numbers; for a policy of the user's own, `module:qualname` of the function
    or class, since source code is not compared.
    """
    if isinstance(given, (str, Path)):
        path = Path(given)
        stored = path if path.suffix == ".safetensors" else path / POLICY_FILE
        if not stored.is_file():
            return str(given)
        given = load_policy(stored)
    if isinstance(given, NetworkPolicy):
        return given.fingerprint
    return qualified_name(given.function if isinstance(given, FunctionPolicy) else given)


def _policy_named(name: str, system: System) -> Policy:
    if name == "random":
        return random_policy(system)
    if name.endswith(".safetensors") or Path(name).is_dir():
        return as_policy(load_policy(name), system)
    if names_code(name):
        return as_policy(import_attribute(name, from_here=True), system)
    raise FarstepError(
        f"there is no policy '{name}'. {did_you_mean(name, ['random'])} "
        "The path of a stored policy (.safetensors) works too, and module:attribute for a policy "
        "or a function (observation → action) of your own."
    )
