"""Records of runs in words: settings by name, and the number that says most."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.fitting.config import PAPER
from farstep.imagination.config import ImagineConfig
from farstep.runs.r2 import decoded
from farstep.runs.run import plain
from farstep.scoring.errors import mean_r_squared

_USUAL = {
    "config": plain(asdict(PAPER)),
    "fit": plain(asdict(PAPER)),
    "agent": plain(asdict(AgentConfig())),
    "imagination": plain(asdict(ImagineConfig())),
}
"""What the settings of a run are told by, for each part: only what differs is stored."""


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings under names with dots."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def headline(record: Mapping[str, Any]) -> dict[str, float]:
    """Return what a run gave in one or two numbers."""
    result = record["result"]
    if "return" in result:
        named = {"return": result["return"], "imagined return": result.get("imagined_return")}
        return {name: value for name, value in named.items() if value is not None}
    if "rows" in result:
        returns = [row["return"] for row in result["rows"] if row["return"] is not None]
        return {"last return": returns[-1], "best return": max(returns)} if returns else {}
    if result.get("r2") is None:
        return {}
    values = mean_r_squared(decoded(result["r2"]))
    shown = dict.fromkeys([min(10, len(values)), len(values)])
    return {f"R²({step})": float(values[step - 1]) for step in shown}


def matches(record: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Return whether every wanted setting has that value, as text; a name's last part is enough."""
    known = {"kind": record["kind"], **flat(filled(record["settings"]))}
    return all(
        any(
            str(value) == text
            for field, value in known.items()
            if field == name or field.endswith(f".{name}")
        )
        for name, text in wanted.items()
    )


def filled(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what is not stored because it is as in the paper."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if not isinstance(value, Mapping):
            found[name] = value
        elif "config" in value:
            found[name] = filled(value)
        else:
            found[name] = {**_USUAL.get(name, {}), **value}
    return found


def differences(records: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the settings in which some runs differ, with each one's value."""
    settings = [{"kind": one["kind"], **flat(one["settings"])} for one in records.values()]
    names = dict.fromkeys(name for one in settings for name in one)
    table = {name: [one.get(name) for one in settings] for name in names}
    return {name: row for name, row in table.items() if any(value != row[0] for value in row[1:])}


def shown(value: Any) -> str:
    """Return a setting or a number for a table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else str(value)
    return str(value)
