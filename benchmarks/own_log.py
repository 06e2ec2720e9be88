"""Models of a log that no simulator of ours wrote: two water tanks (`examples/two_tanks.py`)."""

import importlib.util
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Result
from farstep.datasets.columns import Columns
from farstep.datasets.reading import read
from farstep.episodes import Episodes
from farstep.fitting.config import FitConfig, fit_config
from farstep.fitting.fit import fit
from farstep.runs.pool import run_all
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.scoring.intervals import half_width

SEEDS, STEPS = range(3), (1, 5, 10, 25, 50)
EXAMPLE = Path(__file__).parents[1] / "examples" / "two_tanks.py"


def run() -> Result:
    cases = {
        "default (`auto`)": fit_config(),
        "h = 20, uniform": fit_config(horizon=20, weights="uniform"),
        "h = 4, decay 0.75": fit_config(horizon=4, weights="decay:0.75"),
        "h = 1": fit_config(horizon=1, weights="uniform"),
    }
    fits = {name: [replace(case, seed=seed) for seed in SEEDS] for name, case in cases.items()}
    found = run_all([one for several in fits.values() for one in several], scored, workers=2)
    rows = []
    for name, several in fits.items():
        values = np.array([found[one] for one in several])
        mean, half = values.mean(axis=0), half_width(values)
        rows.append((name, *(f"{m:.4f} ± {h:.4f}" for m, h in zip(mean, half, strict=True))))
    return Result(
        how=f"R², mean over both levels, on the test episodes ± Student's 90 % interval of "
        f"{len(SEEDS)} seeds. Eight hours, 21 episodes, a row every two seconds.",
        columns=("model", *(f"R²({j})" for j in STEPS)),
        rows=rows,
    )


def scored(config: FitConfig) -> list[float]:
    """Fit once; return R² at some steps."""
    train, validation, test = _log().split()
    model = fit(train, validation, config)
    values = mean_r_squared(r_squared(model.dynamics, test, STEPS[-1]))
    return [float(values[j - 1]) for j in STEPS]


def _log() -> Episodes:
    spec = importlib.util.spec_from_file_location("two_tanks", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as folder:
        module.main(Path(folder) / "tanks.csv")
        return read(
            Path(folder) / "tanks.csv",
            Columns(states=("upper", "lower"), actions=("pump",), time="time"),
        )
