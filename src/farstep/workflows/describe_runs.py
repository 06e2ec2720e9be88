"""Look at finished runs of any kind: their settings, what differs, their main results."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from farstep.errors import FarstepError, did_you_mean
from farstep.storage.files import BusyError, explained, locked
from farstep.storage.fingerprint import flat
from farstep.storage.run_directory import CONFIG_FILE, RESULT_FILE, read_json

_HEADLINE = 4
"""Numbers of a result that a list shows."""
_MOST_SETTINGS = 6
"""Settings of a run that a list shows."""


def settings_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's kind and settings, under names with dots such as `fit.horizon`."""
    return {"kind": run["kind"], **flat(run["config"])}


def headline(run: Mapping[str, Any]) -> dict[str, float]:
    """Return a run's main results: its first few numbers, or the returns of its rows or curve.

    Of a list of numbers, such as the scores of an ensemble's members, it is the mean.
    """
    result = run["result"]
    if result.get("rows"):
        returns = [row["return"] for row in result["rows"] if row.get("return") is not None]
        return {"last return": returns[-1], "best return": max(returns)} if returns else {}
    numbers = {
        name.replace("_", " "): fmean(value) if isinstance(value, list) else float(value)
        for name, value in result.items()
        if name not in ("seed", "seconds", "cpu_seconds") and _is_numeric(value)
    }
    if not numbers and result.get("curve"):
        last = result["curve"][-1]
        names = ("steps", "imagined_return", "real_return")
        return {n.replace("_", " "): last[n] for n in names if last.get(n) is not None}
    return dict(list(numbers.items())[:_HEADLINE])


def _is_numeric(value: Any) -> bool:
    """Return whether a value is a number or a list of at least one."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_numeric, value)) and not isinstance(value[0], list)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def selected(
    runs: Mapping[str, dict[str, Any]], wanted: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the runs in which every wanted setting has its value.

    Args:
        runs: Finished runs by name, as `finished_runs` returns them.
        wanted: Values by the name of a setting, or by its last part, such as `horizon`.
    """
    settings = {name: settings_of(run) for name, run in runs.items()}
    known = dict.fromkeys(field for one in settings.values() for field in one)
    for name in wanted:
        if runs and not any(_matches(field, name) for field in known):
            raise FarstepError(f"no run here has a setting '{name}'. {did_you_mean(name, known)}")
    # The kind first: a name may be ambiguous in runs of other kinds.
    ordered = sorted(wanted.items(), key=lambda item: item[0] != "kind")
    return {
        name: run
        for name, run in runs.items()
        if all(_has(settings[name], field, value) for field, value in ordered)
    }


def differences(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the settings in which some runs differ, with the value of each run."""
    settings = [settings_of(run) for run in runs]
    names = dict.fromkeys(name for one in settings for name in one)
    table = {name: [one.get(name) for one in settings] for name in names}
    return {name: row for name, row in table.items() if any(value != row[0] for value in row)}


def distinguishing(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings by which each run differs from others of its kind, as a text."""
    by_kind = {run["kind"]: [one for one in runs if one["kind"] == run["kind"]] for run in runs}
    names = {kind: list(differences(several)) for kind, several in by_kind.items()}
    return [_described(settings_of(run), names[run["kind"]]) for run in runs]


def _described(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return some settings as a text, with the last part of a name where that is unique."""
    ends = [name.rpartition(".")[2] for name in names]
    texts = [
        f"{end if ends.count(end) == 1 else name}={shown(settings[name])}"
        for name, end in zip(names, ends, strict=True)
        if settings.get(name) is not None
    ]
    more = len(texts) - _MOST_SETTINGS
    return " ".join(texts[:_MOST_SETTINGS]) + (f" and {more} more" if more > 0 else "")


def outermost(runs: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the runs that are not inside another run, as the models of an offline run are."""
    return {
        name: run
        for name, run in runs.items()
        if not any(str(parent) in runs for parent in Path(name).parents)
    }


def remove(folder: Path, name: str) -> None:
    """Remove a run's directory with everything in it, whether the run is finished or not."""
    path = folder / name
    inside = folder.resolve() in path.resolve().parents
    if not inside or "fingerprint" not in (read_json(path / CONFIG_FILE) or {}):
        raise FarstepError(f"there is no run '{name}' in '{folder}'.")
    try:
        with explained(path), locked(path, wait=False):
            # First, so that half of a run is no finished one.
            (path / RESULT_FILE).unlink(missing_ok=True)
            shutil.rmtree(path)
    except BusyError as error:
        raise FarstepError(f"{path} is being computed; stop that first.") from error


def shown(value: Any) -> str:
    """Return a setting or a number for a table."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else str(value)
    return str(value)


def _matches(field: str, name: str) -> bool:
    return field == name or field.endswith(f".{name}")


def _has(settings: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a setting has a value; a name that fits two different ones is an error."""
    fields = [name] if name in settings else [field for field in settings if _matches(field, name)]
    if len({str(settings[field]) for field in fields}) > 1:
        raise FarstepError(f"'{name}' may be {' or '.join(fields)}; give more of the name.")
    return bool(fields) and str(settings[fields[0]]) == str(value)
