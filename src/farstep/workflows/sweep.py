"""sweep: many runs and those that they need, on this machine or on a Ray cluster."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from farstep.errors import FarstepError
from farstep.workflows.ray_cluster import run_all_on_ray
from farstep.workflows.runs import Run, Store
from farstep.workflows.worker_pool import run_all


def sweep(
    runs: Sequence[Run], out: str | Path, workers: int = 1, ray: str | None = None
) -> dict[Run, dict[str, Any]]:
    """Return the result of every run, and compute those that are not finished yet.

    A sweep that was stopped or killed continues when it is called again. Several processes may
    sweep the same directory at once: each takes runs that no other process computes.

    Args:
        runs: What to compute; the runs that they need are computed too.
        out: A directory, in which every run has its own.
        workers: Processes of one thread each, on this machine.
        ray: The address of a Ray cluster, to compute there instead.
    """
    store = Store(Path(out))
    todo = to_compute(runs, out)
    missing = set(todo)

    def needs(run: Run) -> list[Run]:
        return [one for one in run.needs if one in missing]

    if ray is None:
        for run in todo:
            run.check()
        run_all(todo, partial(store.run, wait=False), workers, needs)
    elif todo:
        run_all_on_ray(todo, store, ray, needs)
    return {run: _finished(run, store) for run in dict.fromkeys(runs)}


def to_compute(runs: Iterable[Run], out: str | Path) -> list[Run]:
    """Return the runs that are not finished, and those that they need, in the order to start them.

    The longest come first, together with all runs that wait for them, so that no worker is left
    alone with a long run at the end.
    """
    missing = _with_needs(runs, Store(Path(out)))
    followers: dict[Run, list[Run]] = {run: [] for run in missing}
    for run in missing:
        for needed in run.needs:
            followers.get(needed, []).append(run)
    seconds: dict[Run, float] = {}
    for run in reversed(missing):
        longest = max((seconds[one] for one in followers[run]), default=0.0)
        seconds[run] = run.usual_seconds + longest
    return sorted(missing, key=lambda run: -seconds[run])


def _with_needs(runs: Iterable[Run], store: Store) -> list[Run]:
    """Return the runs that are not finished, each after those that it needs."""
    found: dict[Run, None] = {}
    for run in store.missing(runs):
        found |= dict.fromkeys(_with_needs(run.needs, store))
        found[run] = None
    return list(found)


def _finished(run: Run, store: Store) -> dict[str, Any]:
    result = store.result(run)
    if result is None:
        raise FarstepError(
            f"a {run.kind} run has no result: its data ({', '.join(run.reads)}) changed while it "
            "was computed; sweep again."
        )
    return result
