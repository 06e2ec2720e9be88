"""Finding a system by name, by Gymnasium id, or in a user's own file."""

import importlib
import sys
from pathlib import Path
from typing import Any

import gymnasium

from farstep.errors import FarstepError, did_you_mean
from farstep.signals import Signals
from farstep.systems.system import System

SYSTEMS = {
    "cartpole-swingup": "farstep.systems.cartpole:swingup",
    "cartpole-swingup-noisy": "farstep.systems.cartpole:swingup_noisy",
    "pendulum-swingup": "farstep.systems.pendulum:swingup",
    "swimmer": "farstep.systems.locomotion:swimmer",
    "half-cheetah": "farstep.systems.locomotion:half_cheetah",
}
"""The systems that come with Farstep, by name."""


def system(name: str) -> System:
    """Return the system with this name.

    Args:
        name: A name in `SYSTEMS`; a Gymnasium id such as `HalfCheetah-v5`; or `module:attribute`
            for a `System` of your own, looked up from the current directory too.
    """
    if name in SYSTEMS:
        return import_attribute(SYSTEMS[name])
    by_id = {known.env_id: known for known in map(import_attribute, SYSTEMS.values())}
    if name in by_id:
        return by_id[name]
    if name in gymnasium.registry:
        return _without_known_parts(name)
    if ":" in name:
        found = import_attribute(name)
        if not isinstance(found, System):
            raise FarstepError(f"'{name}' is a {type(found).__name__}, not a farstep.System.")
        return found
    raise FarstepError(
        f"there is no system '{name}'. {did_you_mean(name, SYSTEMS)} "
        "A Gymnasium id or module:attribute works too."
    )


def import_attribute(reference: str) -> Any:
    """Import `module:attribute`, with the current directory on the path."""
    module_name, _, attribute = reference.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise FarstepError(
            f"'{reference}': there is no module '{module_name}' here or on the Python path."
        ) from error
    except AttributeError as error:
        module = sys.modules.get(module_name)
        names = [name for name in vars(module) if not name.startswith("_")] if module else []
        raise FarstepError(
            f"'{reference}': module '{module_name}' has no '{attribute}'. "
            f"{did_you_mean(attribute, names)}"
        ) from error


def _without_known_parts(env_id: str) -> System:
    """Return any other Gymnasium environment as a system with no known reward or reset."""
    env = gymnasium.make(env_id)
    states, actions = env.observation_space, env.action_space
    box = gymnasium.spaces.Box
    if not (isinstance(states, box) and isinstance(actions, box)) or (
        len(states.shape) != 1 or len(actions.shape) != 1
    ):
        raise FarstepError(
            f"'{env_id}' has observations {states} and actions {actions}; Farstep needs a flat "
            "Box for both. Wrap the environment and register it under an id of its own."
        )
    plain = Signals.unnamed(states.shape[0], actions.shape[0])
    signals = Signals(
        plain.state_names,
        plain.action_names,
        action_low=tuple(actions.low.tolist()),
        action_high=tuple(actions.high.tolist()),
    )
    steps = env.spec.max_episode_steps if env.spec else None
    env.close()
    return System(env_id, env_id, signals, episode_steps=steps or 1000)
