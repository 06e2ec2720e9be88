"""Runs on all cores: processes of one thread each."""

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from farstep.errors import FarstepError
from farstep.progress import Bar
from farstep.runs.scored_fit import ScoredFit

_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""Two processes of one thread do about 1.5 times the work of one process of two."""


def run_all(runs: Sequence[ScoredFit], folder: Path, workers: int) -> dict[ScoredFit, np.ndarray]:
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
        ProcessPoolExecutor(min(workers, len(distinct)), context) as pool,
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


@contextmanager
def _one_thread() -> Iterator[None]:
    """Give processes started meanwhile one compute thread each."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    flags = f"{before['XLA_FLAGS'] or ''} {_ONE_THREAD['XLA_FLAGS']}".strip()
    os.environ.update({**_ONE_THREAD, "XLA_FLAGS": flags})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
