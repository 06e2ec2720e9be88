"""How long runs will take, from recorded times or from what their kind usually takes."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from farstep.settings import check_counts
from farstep.storage.run_directory import read_result
from farstep.workflows.runs import Run, Store
from farstep.workflows.sweep import to_compute
from reproduction import records
from reproduction.figure import PRESETS, Figure, Plan
from reproduction.reproduce import FIGURES


@dataclass(frozen=True)
class Job:
    """A run to compute."""

    seconds: float
    after: tuple[int, ...] = ()
    """Numbers of the jobs that it needs, which come before it."""


@dataclass(frozen=True)
class Estimate:
    """The runs to compute, and how long they take."""

    rows: Mapping[str, tuple[int, int]]
    """Rows of each figure, and how many of them are recorded."""
    total: Mapping[str, int]
    """Runs by kind."""
    missing: Mapping[str, int]
    """Runs to compute by kind."""
    seconds: Mapping[str, float]
    """Of one core, for the missing runs, by kind."""
    measured: int
    """Missing runs for which a run with the same settings tells the time."""
    jobs: tuple[Job, ...]

    def hours(self, workers: int) -> float:
        """Return how long the missing runs take on some workers."""
        return makespan(self.jobs, workers) / 3600


def estimate(
    figures: Sequence[Figure], out: str | Path, plan: Plan, recorded: bool = True
) -> Estimate:
    """Return what `reproduce` would compute, and how long that takes.

    Args:
        figures: The figures.
        out: The directory of `reproduce`.
        plan: The plan of `reproduce`.
        recorded: Use the rows that come with the source tree; otherwise only their times.
    """
    store, runs, missing_runs, counts = Store(Path(out) / "runs"), [], [], {}
    for figure in figures:
        rows = figure.rows(plan)
        known = records.load(figure.name, rows) if recorded else {}
        counts[figure.name] = (len(rows), len(known))
        for row in rows:
            runs += [row.run, *row.also]
            missing_runs += [] if row in known else [row.run, *row.also]
    missing = to_compute(missing_runs, store.folder)
    times = _times(store, runs)
    numbers = {run: number for number, run in enumerate(missing)}
    jobs, seconds, measured = [], {}, 0
    for run in missing:
        alike = times.get((run.kind, records.settings_of(run)))
        expected = median(alike) if alike else run.usual_seconds
        measured += bool(alike)
        seconds[run.kind] = seconds.get(run.kind, 0.0) + expected
        jobs.append(Job(expected, tuple(numbers[one] for one in run.needs if one in numbers)))
    total = Counter(run.kind for run in dict.fromkeys([*runs, *missing]))
    to_do = Counter(run.kind for run in missing)
    return Estimate(counts, dict(total), dict(to_do), seconds, measured, tuple(jobs))


def makespan(jobs: Sequence[Job], workers: int) -> float:
    """Return the seconds until all jobs are done, in the order of the worker pool."""
    check_counts({"workers": 1}, {"workers": workers})
    waits = [len(job.after) for job in jobs]
    followers: list[list[int]] = [[] for _ in jobs]
    for number, job in enumerate(jobs):
        for needed in job.after:
            followers[needed].append(number)
    ready = [number for number, count in enumerate(waits) if count == 0]
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            number = heapq.heappop(ready)
            heapq.heappush(running, (now + jobs[number].seconds, number))
        now, done = heapq.heappop(running)
        for number in followers[done]:
            waits[number] -= 1
            if waits[number] == 0:
                heapq.heappush(ready, number)
    return now


def recorded_times() -> dict[Run, float]:
    """Return the time of every recorded run that has one."""
    found: dict[Run, float] = {}
    for figure in FIGURES.values():
        for preset in PRESETS:
            for row, record in records.load(figure.name, figure.rows(Plan(preset))).items():
                for run in (row.run, *row.also):
                    if seconds := record.seconds.get(run.kind):
                        found[run] = seconds
    return found


def _times(store: Store, runs: Iterable[Run]) -> dict[tuple[str, str], list[float]]:
    """Return the times of recorded and finished runs, by kind and settings."""
    known = recorded_times()
    for run in dict.fromkeys(runs):
        result = read_result(store.directory(run)) or {}
        if (seconds := result.get("cpu_seconds")) is not None:  # else it continued an earlier one
            known[run] = seconds
    found: dict[tuple[str, str], list[float]] = {}
    for run, seconds in known.items():
        found.setdefault((run.kind, records.settings_of(run)), []).append(seconds)
    return found
