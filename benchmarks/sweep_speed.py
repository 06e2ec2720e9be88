"""How much faster a sweep is with two workers than with one."""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks import pinned
from benchmarks.harness import Result, size
from benchmarks.paper_model import DATA
from farstep import FitConfig, evaluate, fit, load_dataset
from farstep.storage.fingerprint import plain
from farstep.training.config import fit_config
from farstep.workflows.runs import Run, Store
from farstep.workflows.sweep import sweep

FITS, EPOCHS, REPEATS, LIMITS = size((8, 30, 2, 3), (2, 1, 1, 1))


@dataclass(frozen=True)
class EvaluatedFit(Run):
    """A model fitted on the random set, and its R²."""

    config: FitConfig

    kind: ClassVar[str] = "evaluated-fit"

    @property
    def settings(self) -> dict[str, Any]:
        """The fit's configuration."""
        return plain(self.config)

    @property
    def reads(self) -> tuple[str, ...]:
        """The dataset."""
        return (DATA,)

    @property
    def usual_seconds(self) -> float:
        """All take the same time."""
        return 50.0

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return the mean R²."""
        del store
        train, validation, test = load_dataset(DATA).split()
        train, test = (part.take(range(size(len(part), 2))) for part in (train, test))
        model = fit(train, validation, self.config, out=directory / "model")
        evaluation = evaluate(model, test, size(100, 5), references=False)
        return {"r2": evaluation.models[0].mean_r2[0]}


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
    limit = f"{statistics.median(limits):.2f}× ({min(limits):.2f} to {max(limits):.2f})"
    return Result(
        how=f"{FITS} fits of the paper's network, h = 4, {EPOCHS} epochs on the random set, "
        "without early stopping, each evaluated; starting the workers and compiling are included. "
        f"Median of {REPEATS} sweeps of each kind in turn (range). One thread "
        "a worker in both. The machine: the rate of a network's matrix products in two processes "
        f"at once, on a core each, against one alone, median of {LIMITS}; no sweep can gain more.",
        columns=("workers", "seconds", "speed-up"),
        rows=[*rows, ("the machine", "", limit)],
    )


def _limit() -> float:
    """Return how much more two cores do than one, with nothing shared but the machine."""
    call = "benchmarks.model_env_steps:products(64)"
    alone = pinned.run(call)
    both = [pinned.start(call, [core]) for core in pinned.CORES[:2]]
    return sum(pinned.result(one) for one in both) / alone


def _seconds(workers: int) -> float:
    settings = {"horizon": 4, "weights": "decay:0.75", "epochs": EPOCHS, "patience": None}
    runs = [EvaluatedFit(fit_config("paper", **settings, seed=seed)) for seed in range(FITS)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        sweep(runs, folder, workers)
        return time.perf_counter() - began
