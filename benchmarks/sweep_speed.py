"""How much faster a sweep is with two workers than with one."""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import pinned
from benchmarks.harness import Result
from farstep.fitting.config import fit_config
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.store import Store
from farstep.runs.sweep import sweep

FITS, EPOCHS, REPEATS = 8, 30, 2
LIMITS = 3


def run() -> Result:
    turns = [{workers: _seconds(workers) for workers in (1, 2)} for _ in range(REPEATS)]
    times = {workers: [turn[workers] for turn in turns] for workers in (1, 2)}
    one = statistics.median(times[1])
    rows = [
        (
            str(workers),
            f"{statistics.median(found):.0f} ({min(found):.0f} to {max(found):.0f})",
            f"{one / statistics.median(found):.2f}×",
        )
        for workers, found in times.items()
    ]
    limits = [_limit() for _ in range(LIMITS)]
    rows.append(
        (
            "the machine",
            "",
            f"{statistics.median(limits):.2f}× ({min(limits):.2f} to {max(limits):.2f})",
        )
    )
    return Result(
        how=f"{FITS} fits of the paper's network, h = 4, {EPOCHS} epochs on the random set, "
        "without early stopping, each scored; starting the workers and compiling are included. "
        f"Median of {REPEATS} sweeps of each kind in turn (range). One thread "
        "a worker in both. The machine: the rate of a network's matrix products in two processes "
        f"at once, on a core each, against one alone, median of {LIMITS}; no sweep can gain more.",
        columns=("workers", "seconds", "speed-up"),
        rows=rows,
    )


def _limit() -> float:
    """Return how much more two cores do than one, with nothing shared but the machine."""
    call = "benchmarks.imagined_steps:products(64)"
    alone = pinned.run(call)
    both = [pinned.start(call, [core]) for core in pinned.CORES[:2]]
    return sum(pinned.result(one) for one in both) / alone


def _seconds(workers: int) -> float:
    runs = [
        ScoredFit(
            "cartpole-swingup/random",
            fit_config(
                "paper",
                horizon=4,
                weights="decay:0.75",
                epochs=EPOCHS,
                patience=None,
                seed=seed,
            ),
        )
        for seed in range(FITS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        sweep(runs, Store(Path(folder)), workers)
        return time.perf_counter() - began
