"""A local pool of worker processes, of one compute thread each."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from farstep.errors import FarstepError
from farstep.runtime.processes import WORKERS_DIE, end_with_parent
from farstep.settings import check_counts
from farstep.storage.files import BusyError
from farstep.workflows.worker_display import WorkerDisplay, report_to

T = TypeVar("T")
R = TypeVar("R")

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PJRT_NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Environment variables that give a process one compute thread. Without PJRT_NPROC, XLA hands small
operations to as many threads as there are cores: half as much processor time again for no gain."""
_COMPILED = "JAX_COMPILATION_CACHE_DIR"
_CACHE_EVERYTHING = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
}
_MAX_DEATHS = 3
"""Give up after workers died this often in a row without an item being finished in between."""
_REFRESH = 1.0
"""Seconds between two looks at the workers."""


def run_all(
    items: Sequence[T],
    work: Callable[[T], R],
    workers: int,
    needs: Callable[[T], Collection[T]] | None = None,
) -> dict[T, R]:
    """Return the result of `work` for every item; equal items are computed once.

    If a worker is killed, its unfinished item is started again.

    Args:
        items: Values that can be hashed and pickled.
        work: Computes one of them, in a worker.
        workers: Processes of one thread each.
        needs: Returns the items that must be finished before another one.
    """
    check_counts({"workers": 1}, {"workers": workers})
    waiting, found, deaths = dict.fromkeys(items), {}, 0
    if not waiting:
        return found
    with WorkerDisplay(len(waiting)) as display, _environment(display.folder / "compiled"):
        while waiting:
            before = len(found)
            try:
                _run_until_death(waiting, found, work, workers, needs, display)
            except BrokenProcessPool as error:
                deaths = deaths + 1 if len(found) == before else 1
                if deaths == _MAX_DEATHS:
                    raise FarstepError(
                        f"workers died {_MAX_DEATHS} times in a row; finished results are kept. "
                        f"{WORKERS_DIE}"
                    ) from error
    return found


def _run_until_death(
    waiting: dict[T, None],
    found: dict[T, R],
    work: Callable[[T], R],
    workers: int,
    needs: Callable[[T], Collection[T]] | None,
    display: WorkerDisplay,
) -> None:
    """Move items from `waiting` to `found` until all are finished or a worker was killed."""
    count = min(workers, len(waiting))
    context = multiprocessing.get_context("spawn")
    arguments = (os.getpid(), display.folder)
    with ProcessPoolExecutor(count, context, initializer=_prepare, initargs=arguments) as pool:
        try:
            follow(waiting, found, partial(pool.submit, work), needs, display, count)
        except BaseException as error:
            if isinstance(error, FarstepError) and count > 1:  # the others may take hours
                display.print(f"{error} Waiting for the other workers, whose results are kept.")
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def follow(
    waiting: dict[T, None],
    found: dict[T, R],
    submit: Callable[[T], Future[R]],
    needs: Callable[[T], Collection[T]] | None,
    display: WorkerDisplay,
    at_once: int | None = None,
) -> None:
    """Submit every item once the items that it needs are found, and move results to `found`.

    An item that another process computes (`BusyError`) is submitted again after a while. With
    `at_once`, only so many items are submitted at a time: items start in their given order, even
    those that had to wait for others.
    """
    running: dict[Future[R], T] = {}
    retry_at: dict[T, float] = {}
    while waiting:
        now = time.monotonic()
        submitted = set(running.values())
        for item in [one for one in waiting if one not in submitted]:
            if at_once is not None and len(running) >= at_once:
                break
            ready = needs is None or all(other in found for other in needs(item))
            if ready and now >= retry_at.get(item, now):
                running[submit(item)] = item
        if not running:
            time.sleep(_REFRESH)
        done, _ = wait(running, _REFRESH, FIRST_COMPLETED)
        for future in done:
            item = running.pop(future)
            try:
                found[item] = future.result()
            except BusyError:
                retry_at[item] = time.monotonic() + _REFRESH
            else:
                del waiting[item]
        display.update(len(found))


def _prepare(parent: int, folder: Path) -> None:
    """Silence a worker, and end it with its parent."""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  the parent shows the progress
    end_with_parent(parent)
    report_to(folder)


@contextmanager
def _environment(compiled: Path) -> Iterator[None]:
    """Give new processes one compute thread each and a common cache of compiled programs.

    Compiling often takes longer than a small run. The cache is removed afterwards: it holds code,
    and should only be trusted by the processes that wrote it.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD['XLA_FLAGS']}".strip()
    wanted = {**ONE_THREAD, "XLA_FLAGS": flags}
    if _COMPILED not in os.environ:  # else the user has a cache
        wanted |= {_COMPILED: str(compiled), **_CACHE_EVERYTHING}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
