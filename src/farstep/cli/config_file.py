"""Options from a file: YAML, JSON, or the config.json of a run."""

import dataclasses
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import yaml

from farstep.errors import FarstepError
from farstep.settings import check_choice, check_fields, native, replaced
from farstep.storage.files import nearby
from farstep.training.config import FitConfig

_FIT_FIELDS = [field.name for field in dataclasses.fields(FitConfig)]


class _Loader(yaml.SafeLoader):
    """Reads `1e-3` as a number, as YAML 1.2 does; PyYAML follows 1.1."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"), list("-+0123456789")
)


def read_config(path: Path, known: Collection[str]) -> dict[str, Any]:
    """Return the options in a file by name; of a run's `config.json` those that are known.

    Args:
        path: A YAML or JSON file.
        known: The options of the command.
    """
    try:
        found = yaml.load(path.read_text(), _Loader)
    except FileNotFoundError as error:
        raise FarstepError(f"{path}: no such file.{nearby(path)}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise FarstepError(f"{path} cannot be read as YAML or JSON: {reason}") from error
    if isinstance(found, dict) and found.keys() >= {"kind", "fingerprint", "config"}:
        settings = _settings_of_run(found["kind"], found["config"])
        found = {name: value for name, value in settings.items() if name in known}
    return settings_by_name(str(path), found)


def _settings_of_run(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's settings, nested as in the options of `farstep offline`.

    What describes a model, a policy or a system is left out: commands get these by their paths.
    The options of a system's environment remain.
    """
    if kind == "fit":
        settings = {name: value for name, value in config.items() if name in _FIT_FIELDS}
        return {"fit": settings, "learn_reward": config["learn_reward"]}
    found = {
        name: value
        for name, value in config.items()
        if name not in ("model", "policy") and not isinstance(value, (Mapping, list))
    }
    parts = ("fit", "agent", "env", "env_kwargs")
    found |= {name: dict(config[name]) for name in parts if name in config}
    if "fit" in found and "seed" in found:  # the fit's seed is that of the run
        del found["fit"]["seed"]
    return found


def settings_by_name(what: str, given: Any) -> dict[str, Any]:
    """Return settings under Python's names, which have no hyphens; other values are errors."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise FarstepError(f"{what} must hold settings by name, such as 'horizon: 4'.")
    return {name.replace("-", "_"): native(value) for name, value in given.items()}


def nested(command: type, settings: Mapping[str, Any], main: str | None) -> dict[str, Any]:
    """Return settings by the fields of a command; those of its main configuration are nested.

    Args:
        command: The command's dataclass.
        settings: As `read_config` returns them.
        main: The field whose options have no prefix, such as `fit` of `farstep fit`.
    """
    hints = get_type_hints(command)
    fields = [field.name for field in dataclasses.fields(command)]
    inner = [field.name for field in dataclasses.fields(hints[main])] if main else []
    for name in settings:
        check_choice("option", name, [*fields, *inner])
    found = {name: value for name, value in settings.items() if name in fields}
    flat = {name: value for name, value in settings.items() if name not in fields}
    if main and flat:
        found[main] = {**preset_or_settings(main, found.get(main, {})), **flat}
    return found


def preset_or_settings(name: str, given: Any) -> dict[str, Any]:
    """Return a configuration's settings by name; a text is the name of a preset."""
    return {"preset": given} if isinstance(given, str) else settings_by_name(name, given)


def check_values(command: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with values of their types; a value of another type is an error."""
    hints = get_type_hints(command)
    found: dict[str, Any] = {}
    for name, value in settings.items():
        hint = hints[name]
        if get_origin(hint) is dict:
            found[name] = settings_by_name(name, value)
        elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
            found[name] = replaced(hint(), settings_by_name(name, value))
            check_fields(found[name])
        else:
            path = hint in (Path, Path | None) and isinstance(value, str)
            kind = dataclasses.make_dataclass("Options", [(name, hint)])
            check_fields(checked := kind(Path(value) if path else value))
            found[name] = getattr(checked, name)
    return found
