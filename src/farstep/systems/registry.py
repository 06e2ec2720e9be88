"""Finding a system by name, by Gymnasium id, or in a user's own file."""

import hashlib
import importlib
import re
import sys
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from farstep.episodes import Episodes
from farstep.errors import FarstepError, did_you_mean, one_line
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
            for a `System` of your own, or `module:id` for an environment that the module
            registers, looked up from the current directory too. That is then its name, so that
            a dataset says where its system is found.
    """
    if not isinstance(name, str):
        raise FarstepError(
            f"a {type(name).__name__} is no name of a system; give a Gymnasium environment's id, "
            "which is registered, or module:attribute of a farstep.System."
        )
    if name in SYSTEMS:
        return import_attribute(SYSTEMS[name])
    by_id = {known.env_id: known for known in map(import_attribute, SYSTEMS.values())}
    if name in by_id:
        return by_id[name]
    if name in gymnasium.registry:
        return _without_known_parts(name)
    if ":" in name:
        module, attribute = import_module_of(name, from_here=True), name.partition(":")[2]
        if not hasattr(module, attribute) and attribute in gymnasium.registry:
            return _without_known_parts(name)
        ids = _registered_by(module)
        if not hasattr(module, attribute) and ids:
            raise FarstepError(
                f"'{name}': module '{module.__name__}' registers no '{attribute}'. "
                f"{did_you_mean(attribute, ids)}"
            )
        found = import_attribute(name, from_here=True)
        if not isinstance(found, System):
            hint = (
                f" It registers {', '.join(ids)}: name {module.__name__}:{ids[0]}." if ids else ""
            )
            raise FarstepError(f"'{name}' is a {type(found).__name__}, no farstep.System.{hint}")
        return replace(found, name=name)
    ids = gymnasium.registry if re.search(r"-v\d+$", name) else ()
    raise FarstepError(
        f"there is no system '{name}'. {did_you_mean(name, SYSTEMS, ids)} "
        "A Gymnasium id or module:attribute works too, and module:id where a module of yours "
        "registers the id."
    )


def _registered_by(module: ModuleType) -> list[str]:
    """Return the ids of environments whose code is in a module."""
    entries = {name: spec.entry_point for name, spec in gymnasium.registry.items()}
    return [
        name
        for name, entry in entries.items()
        if getattr(entry, "__module__", str(entry).partition(":")[0]) == module.__name__
    ]


def code_of(name: str | None) -> str:
    """Return what tells code of the user's own from the same after an edit; else nothing."""
    if name is None or not names_code(name):
        return ""
    return _digest(import_module_of(name, from_here=True))


def names_code(name: str) -> bool:
    """Return whether a name is module:attribute or module:id, rather than a path or a title."""
    module, _, attribute = name.partition(":")
    one_word = bool(attribute) and not any(letter.isspace() for letter in attribute)
    return one_word and all(part.isidentifier() for part in module.split("."))


@cache
def _digest(module: ModuleType) -> str:
    """Return the hash of a module's file, which has its constants as well as its functions."""
    path = getattr(module, "__file__", None)
    return "" if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()


def system_of(episodes: Episodes) -> System:
    """Return the system that the data come from, with the options it was run with.

    Only one that comes with Farstep or with Gymnasium: a file may name it, but it may not choose
    code of yours to import.
    """
    name = episodes.system
    if name is None:
        raise FarstepError(
            "the data do not say of what system they are; name it (--system, system=…)."
        )
    found = system(named_by_file(name))
    for recipe in ("collected", "trained"):
        made = episodes.metadata.get(recipe)  # in a file of another's, anything
        options = made.get("env_options") if isinstance(made, dict) else None
        if options and isinstance(options, dict):
            found = found.with_options(**options)
    return found


def named_by_file(name: str) -> str:
    """Return a system's name that a file gave; one that would import code is refused."""
    if ":" in name:
        raise FarstepError(
            f"the file names system '{name}', which is code of your own; name it yourself "
            f"(system='{name}', --system {name}) to have it imported."
        )
    return name


def import_attribute(reference: str, from_here: bool = False) -> Any:
    """Import `module:attribute`; `from_here`, also from the current directory."""
    module, attribute = import_module_of(reference, from_here), reference.partition(":")[2]
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise FarstepError(
            f"'{reference}': module '{module.__name__}' has no '{attribute}'. "
            f"{did_you_mean(attribute, names)}"
        )
    return getattr(module, attribute)


def import_module_of(reference: str, from_here: bool) -> ModuleType:
    """Import the module of `module:attribute`, or of `module:id`."""
    name, here = reference.partition(":")[0], str(Path.cwd())
    if from_here and here not in sys.path:
        sys.path.append(here)
    nowhere = f"'{reference}': there is no module '{name}' here or on the Python path."
    if name.endswith(".py"):
        nowhere += " Leave out '.py'."
    if not all(name.split(".")):
        raise FarstepError(nowhere)
    try:
        return importlib.import_module(name)
    except Exception as error:  # of the module's own code, or of what it imports
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise FarstepError(nowhere) from error
        raise FarstepError(
            f"'{reference}': module '{name}' cannot be imported: {one_line(error)}"
        ) from error


def _without_known_parts(env_id: str) -> System:
    """Return any other Gymnasium environment as a system with no known reward, end or reset."""
    try:
        env = gymnasium.make(env_id)
    except Exception as error:  # such as a library that it needs
        raise FarstepError(f"'{env_id}' cannot be made: {one_line(error)}") from error
    with closing(env):
        return _described_by(env, env_id)


def _described_by(env: gymnasium.Env[Any, Any], env_id: str) -> System:
    states, actions = env.observation_space, env.action_space
    box = gymnasium.spaces.Box
    if not (isinstance(states, box) and isinstance(actions, box)) or (
        len(states.shape) != 1 or len(actions.shape) != 1
    ):
        raise FarstepError(
            f"the observations and actions of '{env_id}' are {_shown(states)} and "
            f"{_shown(actions)}; Farstep needs a flat Box for both. Wrap the environment and "
            "register it under an id of its own."
        )
    plain = Signals.unnamed(states.shape[0], actions.shape[0])
    signals = replace(
        plain, action_low=tuple(actions.low.tolist()), action_high=tuple(actions.high.tolist())
    )
    steps = env.spec.max_episode_steps if env.spec else None
    return System(env_id, env_id, signals, episode_steps=steps or 1000, terminated=None)


def _shown(space: gymnasium.Space[Any]) -> str:
    """Return what a space is, on one line: a Box by its shape, others in their own words."""
    box = isinstance(space, gymnasium.spaces.Box)
    return f"Box{space.shape}" if box else " ".join(str(space).split())
