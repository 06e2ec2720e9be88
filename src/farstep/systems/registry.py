"""Finding a system by name, by Gymnasium id, or in a user's module."""

import importlib
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from farstep.data.episodes import Episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.systems import SYSTEMS
from farstep.systems.system import System


def get_system(name: str) -> System:
    """Return the system with this name.

    Args:
        name: A name in `SYSTEMS`; a Gymnasium id such as `HalfCheetah-v5`; `module:attribute` for
            a `System` of your own; or `module:id` for an environment that the module registers.
            Modules are found on the Python path or in the current directory. The name is stored
            with collected data, so that their system is found again.
    """
    if not isinstance(name, str):
        raise FarstepError(
            f"the system must be a name, not a {type(name).__name__}: a Gymnasium id, or "
            "module:attribute of a farstep.System."
        )
    for known, entry in SYSTEMS.items():
        if name in (known, entry.env_id):
            return import_attribute(entry.system)
    if name in gymnasium.registry:
        return _without_known_parts(name)
    if ":" in name:
        return _in_module(name)
    ids = gymnasium.registry if re.search(r"-v\d+$", name) else ()
    raise FarstepError(
        f"there is no system '{name}'. {did_you_mean(name, SYSTEMS, ids)} "
        "A Gymnasium id works too, module:attribute for a System of your own, and module:id for an "
        "environment that a module of yours registers."
    )


def _in_module(name: str) -> System:
    """Return the system or the environment of `module:attribute` or `module:id`."""
    module, attribute = import_module_of(name, from_here=True), name.partition(":")[2]
    found = getattr(module, attribute, None)
    if isinstance(found, System):
        return replace(found, name=name)
    if found is None and attribute in gymnasium.registry:
        return _without_known_parts(name)
    known = [name for name, value in vars(module).items() if isinstance(value, System)]
    known += [
        env_id
        for env_id, entry in ((one, spec.entry_point) for one, spec in gymnasium.registry.items())
        if getattr(entry, "__module__", str(entry).partition(":")[0]) == module.__name__
    ]
    if found is None:
        problem = f"module '{module.__name__}' has no system or environment '{attribute}'"
    else:
        problem = f"it must be a farstep.System, not a {type(found).__name__}"
    offered = [f"{module.__name__}:{one}" for one in known]
    raise FarstepError(f"'{name}': {problem}. {did_you_mean(name, offered)}")


def names_code(name: str) -> bool:
    """Return whether a name is module:attribute or module:id, rather than a path or a title."""
    module, _, attribute = name.partition(":")
    one_word = bool(attribute) and not any(letter.isspace() for letter in attribute)
    return one_word and all(part.isidentifier() for part in module.split("."))


def system_of(episodes: Episodes) -> System:
    """Return the system that was recorded, with the options of its environment.

    A system of the user's own is refused: a file must not choose code to import.
    """
    name = episodes.system
    if name is None:
        raise FarstepError("the data name no system; pass system=… (--system).")
    found = get_system(named_by_file(name))
    for recipe in ("collected", "trained"):
        made = episodes.metadata.get(recipe)  # another program's file may have anything here
        options = made.get("env_kwargs") if isinstance(made, dict) else None
        if options and isinstance(options, dict):
            found = found.with_env_kwargs(**options)
    return found


def named_by_file(name: str) -> str:
    """Return a system's name from a file; refuse one that would import code."""
    if ":" in name and name.partition(":")[0] not in sys.modules:
        raise FarstepError(
            f"the file names system '{name}', and importing it would run its code; to allow that, "
            f"pass system='{name}' (--system {name})."
        )
    return name


def import_attribute(reference: str, from_here: bool = False) -> Any:
    """Import `module:attribute`; with `from_here` also from the current directory."""
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
    """Return another Gymnasium environment as a system without known parts."""
    try:
        env = gymnasium.make(env_id)
    except Exception as error:  # such as a library that it needs
        raise FarstepError(f"'{env_id}' cannot be made: {one_line(error)}") from error
    with closing(env):
        observations, actions = env.observation_space, env.action_space
        steps = env.spec.max_episode_steps if env.spec else None
    box = gymnasium.spaces.Box
    if not (isinstance(observations, box) and isinstance(actions, box)) or (
        len(observations.shape) != 1 or len(actions.shape) != 1
    ):
        found = " and ".join(
            f"Box{space.shape}" if isinstance(space, box) else " ".join(str(space).split())
            for space in (observations, actions)
        )
        raise FarstepError(
            f"the observations and actions of '{env_id}' are {found}; Farstep needs a flat Box for "
            "both. Wrap the environment and register it under a new id."
        )
    signals = replace(
        Signals.unnamed(observations.shape[0], actions.shape[0]),
        action_low=tuple(actions.low.tolist()),
        action_high=tuple(actions.high.tolist()),
    )
    return System(env_id, env_id, signals, max_episode_steps=steps or 1000, terminated=None)
