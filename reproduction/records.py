"""Rows of figures in CSV files: what was computed once is not computed again."""

import csv
import io
import json
import math
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from farstep import FarstepError
from farstep.storage.files import publish
from farstep.storage.fingerprint import flat, plain
from farstep.workflows.runs import Run, data_fingerprint
from reproduction.figure import Row

FOLDER = Path(__file__).parent / "results"
"""The records that come with the source tree: one file for each figure."""
_KEY = ("data", "model", "seed", "settings", "data_fingerprint")
_ORIGIN = ("seconds", "machine", "revision")
_APART = ("data", "system", "seed")
"""Settings with columns of their own."""
_DIGITS = 8
"""Significant ones, of numbers in a file."""
Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """The numbers of a row, and where they come from."""

    values: Mapping[str, Any]
    """By column."""
    seconds: Mapping[str, float | None]
    """Processor time of each of the row's runs, by kind, in the row's order."""
    machine: str = ""
    revision: str = ""
    """Of the source."""


def load(figure: str, rows: Sequence[Row], folder: Path = FOLDER) -> dict[Row, Record]:
    """Return the records of those rows whose settings and data are as they were."""
    path = folder / f"{figure}.csv"
    known = _read(path) if rows and path.exists() else {}
    found = {row: known.get(key_of(row)) for row in rows}
    return {row: _record(row, cells) for row, cells in found.items() if cells is not None}


def save(path: Path, records: Mapping[Row, Record], keep: bool = False) -> None:
    """Write a CSV file; with `keep`, other rows that it holds stay."""
    lines = _read(path) if keep and path.exists() else {}
    for row, record in records.items():
        lines[key_of(row)] = _cells(row, record)
    values = dict.fromkeys(name for cells in lines.values() for name in cells)
    middle = [name for name in values if name not in (*_KEY, *_ORIGIN)]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [*_KEY, *middle, *_ORIGIN], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines.values())
    publish(path, {"": buffer.getvalue().encode()}, force=True)


def key_of(row: Row) -> Key:
    """Return the cells that identify a row."""
    seed = "" if row.seed is None else str(row.seed)
    return (row.data, row.model, seed, settings_of(row.run), _fingerprint(row.run.reads))


def keys_in(path: Path) -> list[Key]:
    """Return the keys of all rows of a file."""
    return list(_read(path))


def settings_of(run: Run) -> str:
    """Return a run's settings in one line, without its seed and data: the same for all seeds."""
    settings = flat(_without(plain(run.settings)))
    shown = {n: v if isinstance(v, str) else json.dumps(v) for n, v in settings.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def revision() -> str:
    """Return the revision of the source, if it is a Git checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(one) for name, one in value.items() if name not in _APART}
    return value


def _fingerprint(names: Iterable[str]) -> str:
    """Return the first digits of the datasets' fingerprints."""
    return "+".join(data_fingerprint(name)[:12] for name in names)


def _read(path: Path) -> dict[Key, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not {*_KEY, *_ORIGIN} <= set(reader.fieldnames or ()):
            raise FarstepError(f"{path} is no file of records: columns are missing.")
        return {tuple(cells[name] for name in _KEY): cells for cells in reader}


def _record(row: Row, cells: Mapping[str, str]) -> Record:
    times = {run.kind: _time_column(place, run) for place, run in enumerate((row.run, *row.also))}
    given = {name: _parsed(text) for name, text in cells.items()}
    return Record(
        {name: v for name, v in given.items() if name not in (*_KEY, *_ORIGIN, *times.values())},
        {kind: given.get(column) for kind, column in times.items()},
        cells["machine"],
        cells["revision"],
    )


def _cells(row: Row, record: Record) -> dict[str, str]:
    """Return a row's cells; the time of its first run is in the column `seconds`."""
    values = dict(record.values)
    for place, run in enumerate((row.run, *row.also)):
        values[_time_column(place, run)] = record.seconds.get(run.kind)
    cells = dict(zip(_KEY, key_of(row), strict=True))
    cells |= {name: _text(value) for name, value in values.items()}
    return {**cells, "machine": record.machine, "revision": record.revision}


def _time_column(place: int, run: Run) -> str:
    return f"{run.kind}_seconds" if place else "seconds"


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    return str(value) if isinstance(value, int) else json.dumps(value, separators=(",", ":"))


def _parsed(text: str) -> Any:
    """Return a number, plain values from JSON, or None for an empty cell."""
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        try:
            return float(text)  # -inf, which JSON does not know
        except ValueError:
            return text
