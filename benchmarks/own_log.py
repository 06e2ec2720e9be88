"""Models of a log from outside Farstep's simulators: two water tanks (`examples/two_tanks.py`)."""

import importlib.util
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Result, size
from benchmarks.traces import cells, r2
from farstep import Columns, Episodes, FitConfig, fit, read_dataset
from farstep.runtime.processes import usable_cores
from farstep.training.config import fit_config
from farstep.workflows.worker_pool import run_all

SEEDS, STEPS = range(size(3, 2)), size((1, 5, 10, 25, 50), (1, 5))
QUICK: dict[str, Any] = size({}, {"epochs": 1, "width": 8})


def run() -> Result:
    cases = {
        "default (`auto`)": fit_config(**QUICK),
        "h = 20, uniform": fit_config(**QUICK, horizon=20, weights="uniform"),
        "h = 4, decay 0.75": fit_config(**QUICK, horizon=4, weights="decay:0.75"),
        "h = 1": fit_config(**QUICK, horizon=1, weights="uniform"),
    }
    fits = {name: [replace(case, seed=seed) for seed in SEEDS] for name, case in cases.items()}
    todo = [one for several in fits.values() for one in several]
    found = run_all(todo, evaluated, workers=usable_cores())
    return Result(
        how="R², mean over both levels, on the test episodes ± half of Student's 90 % interval of "
        f"{len(SEEDS)} seeds. Eight hours, 21 episodes, a row every two seconds.",
        columns=("model", *(f"R²({j})" for j in STEPS)),
        rows=[
            (name, *cells(np.array([found[one] for one in several])))
            for name, several in fits.items()
        ],
    )


def evaluated(config: FitConfig) -> list[float]:
    """Fit once; return R² at some steps."""
    train, validation, test = _log().split()
    return r2(fit(train, validation, config).dynamics, test, STEPS)


def _log() -> Episodes:
    spec = importlib.util.spec_from_file_location("two_tanks", ROOT / "examples" / "two_tanks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tanks.csv"
        module.main(path)
        return read_dataset(
            path, Columns(observations=("upper", "lower"), actions=("pump",), time="time")
        )
