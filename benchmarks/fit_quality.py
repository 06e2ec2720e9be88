"""R² far ahead of models fitted with h = 1, 2, 4, 10, beside baselines and the oracle.

Every run's result is kept in `results/fit_quality/`; what is there is not computed again.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, Result
from farstep import fit, load, score
from farstep.report.score_table import number
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.scoring.intervals import half_width

DATA, SPLIT_SEED, EPOCHS = "cartpole-swingup/random", 0, 50
SEEDS = (0, 1, 2)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"horizon": 1, "weights": "uniform"},
    {"horizon": 2, "weights": "decay:0.9"},
    {"horizon": 4, "weights": "decay:0.75"},
    {"horizon": 10, "weights": "decay:0.3"},
)
ENSEMBLE: dict[str, Any] = {"horizon": 1, "weights": "uniform", "members": 5}
HORIZONS = (1, 10, 25, 50, 100)
FOLDER = RESULTS / "fit_quality"


def run() -> Result:
    rows = _references()
    for target in ("delta", "next"):
        for settings in (*SETTINGS, ENSEMBLE) if target == "delta" else SETTINGS:
            runs = [_one(target, settings, seed) for seed in SEEDS]
            rows.append(_row(target, settings, runs))
    return Result(
        how=f"Test split of {DATA} (split seed {SPLIT_SEED}), fit seeds {SEEDS}: mean and, after "
        f"±, half of Student's 90 % interval. The paper's network and settings, mse, at most "
        f"{EPOCHS} epochs, early stopping on the objective. Times are of one core, compilation "
        "included.",
        columns=("model", *(f"R²({j})" for j in HORIZONS), "fit, s", "epochs"),
        rows=rows,
    )


def _references() -> list[tuple[str, ...]]:
    """Return the rows of what is not fitted by seeds: baselines and the oracle."""
    train, _, test = load(DATA).split(SPLIT_SEED)
    found = score([], test, max(HORIZONS), train=train)
    return [(one.name, *(number(one.at(j)[0]) for j in HORIZONS), "", "") for one in found.scores]


def _one(target: str, settings: dict[str, Any], seed: int) -> dict:
    members = f"-{settings['members']}members" if "members" in settings else ""
    path = FOLDER / f"{target}-h{settings['horizon']}{members}-seed{seed}.json"
    if not path.exists():
        train, validation, test = load(DATA).split(SPLIT_SEED)
        start = time.process_time()
        model = fit(train, validation, "paper", **settings, target=target, epochs=EPOCHS, seed=seed)
        seconds = time.process_time() - start
        values = mean_r_squared(r_squared(model.dynamics, test, max(HORIZONS)))
        curves = model.record["curves"]
        result = {
            "config": dict(model.config),
            "r2": {str(j): float(values[j - 1]) for j in HORIZONS},
            "seconds": round(seconds, 1),
            "epochs": float(np.mean([len(curve["score"]) for curve in curves])),
        }
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(path.name, result["r2"], result["seconds"], flush=True)
    return json.loads(Path(path).read_text())


def _row(target: str, settings: dict[str, Any], runs: Sequence[dict]) -> tuple[str, ...]:
    def shown(horizon: int) -> str:
        values = np.array([run["r2"][str(horizon)] for run in runs])
        return number(float(values.mean()), float(half_width(values)))

    weights = "" if settings["horizon"] == 1 else f", {settings['weights']}"
    members = f", {settings['members']} members" if "members" in settings else ""
    return (
        f"{target}, h = {settings['horizon']}{weights}{members}",
        *(shown(j) for j in HORIZONS),
        f"{np.mean([run['seconds'] for run in runs]):.0f}",
        f"{np.mean([run['epochs'] for run in runs]):.0f}",
    )
