"""R² far ahead of models fitted with h = 1, 2, 4, 10, on the shipped random set.

Every run's result is kept in `results/fit_quality/`; what is there is not computed again.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness import RESULTS, Result
from farstep import fit, load
from farstep.scoring.errors import mean_r_squared, r_squared

DATA, SPLIT_SEED, EPOCHS = "cartpole-swingup/random", 0, 50
SEEDS = (0, 1, 2)
SETTINGS = ((1, "uniform"), (2, "decay:0.9"), (4, "decay:0.75"), (10, "decay:0.3"))
HORIZONS = (1, 10, 25, 50, 100)
FOLDER = RESULTS / "fit_quality"


def run() -> Result:
    rows = []
    for target in ("delta", "next"):
        for horizon, weights in SETTINGS:
            runs = [_one(target, horizon, weights, seed) for seed in SEEDS]
            rows.append(_row(target, horizon, weights, runs))
    return Result(
        how=f"Test split of {DATA} (split seed {SPLIT_SEED}), fit seeds {SEEDS}: mean and, after "
        f"±, the 90 % Gaussian interval's half width. The paper's network and settings, mse, at "
        f"most {EPOCHS} epochs, early stopping on the objective. Times are of one core, "
        "compilation included.",
        columns=("target", "h", "weights", *(f"R²({j})" for j in HORIZONS), "fit, s", "epochs"),
        rows=rows,
    )


def _one(target: str, horizon: int, weights: str, seed: int) -> dict:
    path = FOLDER / f"{target}-h{horizon}-seed{seed}.json"
    if not path.exists():
        train, validation, test = load(DATA).split(SPLIT_SEED)
        start = time.process_time()
        model = fit(
            train,
            validation,
            horizon=horizon,
            weights=weights,
            target=target,
            epochs=EPOCHS,
            seed=seed,
        )
        seconds = time.process_time() - start
        values = mean_r_squared(r_squared(model.dynamics, test, max(HORIZONS)))
        result = {
            "config": dict(model.config),
            "r2": {str(j): float(values[j - 1]) for j in HORIZONS},
            "seconds": round(seconds, 1),
            "epochs": len(model.record["curves"][0]["score"]),
            "best_epoch": model.record["curves"][0]["best_epoch"] + 1,
        }
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(path.name, result["r2"], result["seconds"], flush=True)
    return json.loads(Path(path).read_text())


def _row(target: str, horizon: int, weights: str, runs: Sequence[dict]) -> tuple[str, ...]:
    def shown(values: Sequence[float]) -> str:
        half = 1.645 * np.std(values, ddof=1) / np.sqrt(len(values))
        return f"{np.mean(values):.4f} ± {half:.4f}"

    return (
        target,
        str(horizon),
        weights,
        *(shown([run["r2"][str(j)] for run in runs]) for j in HORIZONS),
        f"{np.mean([run['seconds'] for run in runs]):.0f}",
        f"{np.mean([run['epochs'] for run in runs]):.0f}",
    )
