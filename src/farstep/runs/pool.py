"""Many runs on all cores: processes of one thread each."""

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
from farstep.fields import check_least
from farstep.files import BusyError
from farstep.processes import WORKERS_DIE, end_with_parent
from farstep.runs.board import Board, report_to

T = TypeVar("T")
R = TypeVar("R")

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PJRT_NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""What gives a process one compute thread. Without PJRT_NPROC, XLA would still hand the small
operations of a program to as many threads as there are cores: half as much processor time again,
and nothing is done earlier."""
_PROGRAMS = "JAX_COMPILATION_CACHE_DIR"
_KEEP_ALL = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
}
_PATIENCE = 3
"""How often in a row workers may be killed without anything being finished in between."""
_REFRESH = 1.0
"""Seconds between two looks at the workers."""


def run_all(
    items: Sequence[T],
    work: Callable[[T], R],
    workers: int,
    needs: Callable[[T], Collection[T]] | None = None,
) -> dict[T, R]:
    """Return what every item gives; the same item twice is computed once.

    Where a worker is killed, what it had not finished is started again.

    Args:
        items: What to compute; to be hashed and pickled.
        work: Computes one of them, in a worker.
        workers: Processes of one thread each.
        needs: Those of the items that have to be finished before one.
    """
    check_least({"workers": 1}, {"workers": workers})
    waiting, found, broken = dict.fromkeys(items), {}, 0
    if not waiting:
        return found
    with Board(len(waiting)) as board, _surroundings(board.folder / "programs"):
        while waiting:
            before = len(found)
            try:
                _until_broken(waiting, found, work, workers, needs, board)
            except BrokenProcessPool as error:
                broken = broken + 1 if len(found) == before else 1
                if broken == _PATIENCE:
                    raise FarstepError(
                        f"workers died {_PATIENCE} times in a row; what was finished is kept. "
                        f"{WORKERS_DIE}"
                    ) from error
    return found


def _until_broken(
    waiting: dict[T, None],
    found: dict[T, R],
    work: Callable[[T], R],
    workers: int,
    needs: Callable[[T], Collection[T]] | None,
    board: Board,
) -> None:
    """Move items from `waiting` to `found` until all are there or a worker was killed."""
    count = min(workers, len(waiting))
    context = multiprocessing.get_context("spawn")
    told = (os.getpid(), board.folder)
    with ProcessPoolExecutor(count, context, initializer=_prepare, initargs=told) as pool:
        try:
            follow(waiting, found, partial(pool.submit, work), needs, board, count)
        except FarstepError as error:
            if count > 1:  # said now: the others may take hours
                board.say(f"{error} Waiting for what else is under way, which is kept.")
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def follow(
    waiting: dict[T, None],
    found: dict[T, R],
    submit: Callable[[T], Future[R]],
    needs: Callable[[T], Collection[T]] | None,
    board: Board,
    at_once: int | None = None,
) -> None:
    """Submit every item when what it needs is found, and move what is done to `found`.

    What another process is at is left to it, and asked for again after a while. With `at_once` only
    so many are submitted at a time: what was asked for first is begun first, also where it had to
    wait for something.
    """
    begun: dict[Future[R], T] = {}
    elsewhere: dict[T, float] = {}
    while waiting:
        now = time.monotonic()
        under_way = set(begun.values())
        for item in [one for one in waiting if one not in under_way]:
            if at_once is not None and len(begun) >= at_once:
                break
            ready = needs is None or all(other in found for other in needs(item))
            if ready and now >= elsewhere.get(item, now):
                begun[submit(item)] = item
        if not begun:
            time.sleep(_REFRESH)
        done, _ = wait(begun, _REFRESH, FIRST_COMPLETED)
        for future in done:
            item = begun.pop(future)
            try:
                found[item] = future.result()
            except BusyError:
                elsewhere[item] = time.monotonic() + _REFRESH
            else:
                del waiting[item]
        board.show(len(found))


def _prepare(parent: int, board: Path) -> None:
    """Make a worker quiet, and have it end with its parent."""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  the parent shows the progress
    end_with_parent(parent)
    report_to(board)


@contextmanager
def _surroundings(programs: Path) -> Iterator[None]:
    """Give processes started meanwhile one compute thread each, and compiled programs in common.

    Compiling often takes longer than a small run. What one of them compiles is kept for the others
    while they are at work, and no longer: a store of programs is code, to be trusted as such.
    """
    flags = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD['XLA_FLAGS']}".strip()
    wanted = {**ONE_THREAD, "XLA_FLAGS": flags}
    if _PROGRAMS not in os.environ:  # else the user has a store
        wanted |= {_PROGRAMS: str(programs), **_KEEP_ALL}
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
