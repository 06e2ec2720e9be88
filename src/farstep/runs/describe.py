"""Records of runs in words: settings by name, and the number that says most."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.errors import FarstepError, did_you_mean
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
    if "value" in result:
        return {"value": result["value"]}
    if result.get("r2") is None:
        return {}
    values = mean_r_squared(decoded(result["r2"]))
    shown = dict.fromkeys([min(10, len(values)), len(values)])
    return {f"R²({step})": float(values[step - 1]) for step in shown}


def selected(records: Sequence[dict[str, Any]], wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records in which every wanted setting has its value; a name's end may do."""
    told = [told_by(record) for record in records]
    known = dict.fromkeys(field for one in told for field in one)
    for name in wanted:
        if records and not any(_ends(field, name) for field in known):
            raise FarstepError(f"no run here has a setting '{name}'. {did_you_mean(name, known)}")
    kind_first = sorted(wanted.items(), key=lambda item: item[0] != "kind")
    return [
        record
        for record, one in zip(records, told, strict=True)
        if all(_is(one, name, value) for name, value in kind_first)
    ]


def told_by(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run is told by, defaults included, under names with dots."""
    return {"kind": record["kind"], **flat(filled(record["settings"]))}


def seed_of(record: Mapping[str, Any]) -> int | None:
    """Return the seed of a run, or of what it is made of; None if it has none."""
    told = told_by(record)
    fields = [field for field in told if _ends(field, "seed")]
    return told[min(fields, key=len)] if fields else None


def _ends(field: str, name: str) -> bool:
    return field == name or field.endswith(f".{name}")


def _is(told: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a setting has a value; fail if the name is that of two which differ."""
    fields = [name] if name in told else [field for field in told if _ends(field, name)]
    if len({str(told[field]) for field in fields}) > 1:
        raise FarstepError(f"'{name}' may be {' or '.join(fields)}; give more of the name.")
    return bool(fields) and (told[fields[0]] == value or str(told[fields[0]]) == str(value))


def filled(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what is not stored because it is as in the paper.

    How far a fit is scored is no setting of the model: it gets a name of its own.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if not isinstance(value, Mapping):
            found["scored_horizon" if name == "horizon" and "config" in settings else name] = value
        elif "config" in value:
            found[name] = filled(value)
        else:
            found[name] = {**_USUAL.get(name, {}), **value}
    return found


def differences(records: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the settings in which some runs differ, with each one's value."""
    settings = [told_by(one) for one in records.values()]
    names = dict.fromkeys(name for one in settings for name in one)
    table = {name: [one.get(name) for one in settings] for name in names}
    return {name: row for name, row in table.items() if any(value != row[0] for value in row[1:])}


def peculiar(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return of each run the settings that not all have and that are not as in the paper."""
    differing = differences({str(place): one for place, one in enumerate(records)})
    last = [name.rpartition(".")[2] for name in differing]
    short = {n: end if last.count(end) == 1 else n for n, end in zip(differing, last, strict=True)}
    stored = [flat(one["settings"]) for one in records]
    return [
        " ".join(f"{short[name]}={shown(value)}" for name, value in one.items() if name in short)
        for one in stored
    ]


def shown(value: Any) -> str:
    """Return a setting or a number for a table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if np.isfinite(value) else str(value)
    return str(value)
