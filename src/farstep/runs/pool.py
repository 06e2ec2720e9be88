"""Runs on all cores: processes of one thread each."""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from farstep.errors import FarstepError
from farstep.processes import end_with_parent
from farstep.progress import Bar

Result = TypeVar("Result", covariant=True)

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""What gives a process one compute thread. Two of these do about 1.5 times the work of one process
with two."""


@runtime_checkable
class Run(Protocol[Result]):
    """Something to compute: hashable, so that the same is computed once, and to be pickled."""

    def run(self, folder: Path) -> Result:
        """Return the result, from what `folder` holds of it already."""
        ...

    def __hash__(self) -> int: ...


def run_all(runs: Sequence[Run[Result]], folder: Path, workers: int) -> dict[Run[Result], Result]:
    """Return what every run gives; the same run asked for twice is computed once.

    Stopped or killed, it goes on where it was when it is called again.
    """
    if workers < 1:
        raise FarstepError(f"the number of workers must be at least 1, not {workers}.")
    distinct = list(dict.fromkeys(runs))
    if not distinct:
        return {}
    context = multiprocessing.get_context("spawn")
    found = {}
    with (
        _one_thread(),
        ProcessPoolExecutor(
            min(workers, len(distinct)), context, initializer=_prepare, initargs=(os.getpid(),)
        ) as pool,
        Bar("runs", len(distinct), "runs") as bar,
    ):
        waiting = {pool.submit(run.run, folder): run for run in distinct}
        try:
            for done in as_completed(waiting):
                found[waiting[done]] = done.result()
                bar.advance()
        except BrokenProcessPool as error:
            raise FarstepError(
                "a worker was killed, perhaps for want of memory; start again with fewer workers: "
                "what was finished is kept."
            ) from error
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return found


def _prepare(parent: int) -> None:
    """Make a worker quiet, and have it end with its parent."""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  the parent shows the progress
    end_with_parent(parent)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give processes started meanwhile one compute thread each."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    flags = f"{before['XLA_FLAGS'] or ''} {ONE_THREAD['XLA_FLAGS']}".strip()
    os.environ.update({**ONE_THREAD, "XLA_FLAGS": flags})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
