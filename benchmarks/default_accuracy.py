"""How near the default comes to the oracle, on traces that it was not tuned on.

Models of the presets `default` and `paper`, ensembles of five of the former, and the oracle.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import Result, size
from benchmarks.traces import HORIZONS, TraceFit, cells, ensemble_r2, measure, oracle_r2
from farstep.training.config import fit_config

CARTPOLE = size(("clean-unseen", "noisy-unseen"), ("clean-unseen",))
OTHERS = size(("pendulum-swingup", "half-cheetah"), ())
SEEDS = size({"paper": (5, 3), "default": (10, 3)}, {"paper": (1, 1), "default": (2, 1)})
"""How many, on cartpole and on the others."""
MEMBERS = size(5, 2)
QUICK = size({}, {"epochs": 1, "width": 8})


def run() -> Result:
    fits = {
        (data, preset): [
            TraceFit(data, fit_config(preset, **QUICK, seed=seed))
            for seed in range(numbers[data in OTHERS])
        ]
        for data in (*CARTPOLE, *OTHERS)
        for preset, numbers in SEEDS.items()
    }
    results = measure(one for several in fits.values() for one in several)
    rows = []
    for (data, preset), several in fits.items():
        rows.append(_row(data, preset, [results[one] for one in several]))
        if preset == "default":
            groups = [several[n : n + MEMBERS] for n in range(0, len(several), MEMBERS)]
            full = [group for group in groups if len(group) == MEMBERS]
            if full:
                together = [{"r2": ensemble_r2(group)} for group in full]
                rows.append(_row(data, "ensembles of five", together))
            rows.append((data, "oracle", "", *(f"{r2:.4f}" for r2 in oracle_r2(data)), "", ""))
    return Result(
        how="R² on test episodes, ± half of Student's 90 % interval over the seeds of fits. "
        "Data: traces of SAC learning on the real system. Nothing was tuned on the two of "
        "cartpole; the rule of the automatic horizon was tried on the other two. Ensembles: the "
        "mean of five models of the default. Diverged: R² below 0 at any of these horizons. "
        "Seconds of one core, compilation included.",
        columns=("trace", "model", "fits", *(f"R²({j})" for j in HORIZONS), "diverged", "s"),
        rows=rows,
    )


def _row(data: str, name: str, found: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    values = np.array([one["r2"] for one in found])
    seconds = [one["seconds"] for one in found if "seconds" in one]
    diverged = f"{int((values < 0).any(axis=1).sum())} of {len(found)}"
    mean = f"{np.mean(seconds):.0f}" if seconds else ""
    return (data, name, str(len(found)), *cells(values), diverged, mean)
