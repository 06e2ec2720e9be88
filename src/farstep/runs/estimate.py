"""How long runs will take, from those that are finished, or else from what their kind costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from farstep.fields import identity_of
from farstep.runs.makespan import Job, makespan
from farstep.runs.run import Run, plain
from farstep.runs.store import RECORD, Store, read_record
from farstep.runs.sweep import to_compute

_APART = ("seed", "data", "system")
"""Settings that change what a run gives, but hardly how long it takes."""


@dataclass(frozen=True)
class Estimate:
    """What there is to compute."""

    total: dict[str, int]
    """Runs, by kind."""
    missing: dict[str, int]
    """Those that are not finished, by kind."""
    seconds: dict[str, float]
    """Of one core, for those that are missing, by kind."""
    measured: int
    """Of the missing ones, how many have a finished one of the same settings to go by."""
    jobs: tuple[Job, ...]
    """The missing ones, with what they wait for."""

    def hours(self, workers: int) -> float:
        """Return how long it takes on some workers."""
        return makespan(self.jobs, workers) / 3600


def estimate(runs: Sequence[Run], store: Store, timed: Sequence[Path] = ()) -> Estimate:
    """Return what has to be computed for some runs, and how long that takes.

    Args:
        runs: What is asked for.
        store: Where finished ones are.
        timed: Directories of other records, which tell times only.
    """
    distinct = list(dict.fromkeys(runs))
    missing = to_compute(distinct, store)
    known = _measured([store.folder, *store.records, *timed])
    seconds: dict[str, float] = {}
    numbers = {run: number for number, run in enumerate(missing)}
    jobs, measured = [], 0
    for run in missing:
        alike = known.get(_alike(run.kind, plain(run.settings)))
        measured += alike is not None
        expected = run.usual_seconds if alike is None else median(alike)
        seconds[run.kind] = seconds.get(run.kind, 0.0) + expected
        jobs.append(Job(expected, tuple(numbers[one] for one in run.needs if one in numbers)))
    kinds = Counter(run.kind for run in dict.fromkeys([*distinct, *missing]))
    there = Counter(run.kind for run in missing)
    return Estimate(dict(kinds), dict(there), seconds, measured, tuple(jobs))


def _measured(folders: Sequence[Path]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for folder in folders:
        for path in folder.glob(f"*/{RECORD}"):
            record = read_record(path.parent)
            if record is not None and record["seconds"]:
                alike = _alike(record["kind"], record["settings"])
                found.setdefault(alike, []).append(record["seconds"])
    return found


def _alike(kind: str, settings: dict[str, Any]) -> str:
    """Return what is the same for runs that should take the same time."""
    return identity_of(kind=kind, settings=_without(settings))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(one) for name, one in value.items() if name not in _APART}
    return value
