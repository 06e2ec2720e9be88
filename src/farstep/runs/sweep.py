"""Runs and those that they need, on this machine or on a cluster."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from farstep.runs.on_ray import run_all_on_ray
from farstep.runs.pool import run_all
from farstep.runs.run import Run
from farstep.runs.store import Store


def sweep(
    runs: Sequence[Run], store: Store, workers: int = 1, ray: str | None = None
) -> dict[Run, dict[str, Any]]:
    """Return the result of every run; only what the store has not is computed.

    What others need the files of is computed again where the store has only a record of it.

    Stopped or killed, it goes on where it was when it is called again. Several processes may sweep
    one store at once: each takes what no other is at.

    Args:
        runs: What is asked for; what they need is computed too.
        store: Where they are kept.
        workers: Processes of one thread each, on this machine.
        ray: The address of a Ray cluster, to compute there instead.
    """
    todo = to_compute(runs, store)
    chosen = set(todo)
    if ray is None:
        for run in todo:
            run.check()

    def needs(run: Run) -> list[Run]:
        return [one for one in run.needs if one in chosen]

    if ray is None:
        run_all(todo, partial(store.run, wait=False, here=True), workers, needs)
    elif todo:
        run_all_on_ray(todo, store, ray, needs)
    found = {run: store.record(run) for run in dict.fromkeys(runs)}
    return {run: record["result"] for run, record in found.items() if record is not None}


def to_compute(runs: Sequence[Run], store: Store) -> list[Run]:
    """Return what is missing of some runs and what it needs, in the order to begin it.

    First what takes longest, together with all that waits for it, so that at the end no worker is
    alone with something long.
    """
    missing = with_needs(store.missing(runs), store)
    followers: dict[Run, list[Run]] = {run: [] for run in missing}
    for run in missing:
        for needed in run.needs:
            followers.get(needed, []).append(run)
    seconds: dict[Run, float] = {}
    for run in reversed(missing):
        longest = max((seconds[one] for one in followers[run]), default=0.0)
        seconds[run] = run.usual_seconds + longest
    return sorted(missing, key=lambda run: -seconds[run])


def with_needs(runs: Sequence[Run], store: Store) -> list[Run]:
    """Return the runs with all that they need and whose files are missing, those first."""
    found: dict[Run, None] = {}
    for run in runs:
        found |= dict.fromkeys(with_needs(store.missing(run.needs, here=True), store))
        found[run] = None
    return list(found)
