"""weights="auto" against fixed horizons, and against the choice by validation R².

The same settings and the same cost for all: half of the default's compositions.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Result
from benchmarks.kept_fits import CARED_ABOUT, HORIZONS, KeptFit, results, table
from farstep.scoring.intervals import half_width

SEEDS = range(3)
DATA = ("clean", "noisy", "pendulum-swingup", "half-cheetah")
FIXED = (1, 5, 20)
CASES: dict[str, dict[str, Any]] = {
    **{f"h = {h}": {"horizon": h, "weights": "uniform"} for h in FIXED},
    "auto": {},
}


def run() -> Result:
    fits = {
        (data, name): [
            KeptFit("auto_choice", name, data, seed, {"compositions": 20_000, **settings})
            for seed in SEEDS
        ]
        for data in DATA
        for name, settings in CASES.items()
    }
    results([one for some in fits.values() for one in some])
    rows = []
    for data in DATA:
        found = {name: results(fits[data, name]) for name in CASES}
        for name in CASES:
            chosen = sorted({one["horizon"] for one in found[name] if "horizon" in one})
            rows.append(_row(data, name, found[name], ", ".join(map(str, chosen))))
        best = [max(FIXED, key=lambda h: found[f"h = {h}"][seed]["validation"]) for seed in SEEDS]
        judged = [found[f"h = {h}"][seed] for h, seed in zip(best, SEEDS, strict=True)]
        rows.append(_row(data, "by validation", judged, ", ".join(map(str, sorted(set(best))))))
    return Result(
        how="R² on the test episodes, ± half of Student's 90 % interval over three seeds of fits. "
        "Data: traces of SAC learning, seed 0. "
        f"20 000 compositions each. By validation: each seed's fixed horizon with "
        f"the best mean R² over 1 to {CARED_ABOUT} steps on the validation episodes, which takes a "
        "fit of every one. Mean: of the R² up to 50 steps in this table.",
        columns=("data", "weights", "h", *(f"R²({j})" for j in HORIZONS), "mean up to 50"),
        rows=rows,
    )


def _row(data: str, name: str, found: list[dict[str, Any]], h: str) -> tuple[str, ...]:
    values = table(found)
    near = [number for number, j in enumerate(HORIZONS) if j <= CARED_ABOUT]
    values = np.column_stack([values, values[:, near].mean(axis=1)])
    if not np.isfinite(values).all():
        return (data, name, h, *("diverges" if not np.isfinite(v).all() else "" for v in values.T))
    pairs = zip(values.mean(0), half_width(values), strict=True)
    return (data, name, h, *(f"{m:.4f} ± {half:.4f}" for m, half in pairs))
