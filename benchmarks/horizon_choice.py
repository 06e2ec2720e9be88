"""The automatic horizon against fixed ones, and against the choice by validation R².

The same settings and the same cost for all: half of the default's model steps.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Result, size
from benchmarks.traces import HORIZONS, TraceFit, cells, measure
from farstep.training.config import fit_config

SEEDS = range(size(3, 2))
DATA = size(("clean", "noisy", "pendulum-swingup", "half-cheetah"), ("clean",))
FIXED = size((1, 5, 20), (1, 2))
AHEAD = size(50, 5)
"""The mean R² up to this many steps ahead compares horizons."""
BUDGET = size({"model_steps": 20_000}, {"epochs": 1, "width": 8, "horizon": 4})


def run() -> Result:
    cases: dict[str, dict[str, Any]] = {
        **{f"h = {h}": {"horizon": h, "weights": "uniform"} for h in FIXED},
        "auto": {},
    }
    fits = {
        (data, name): [
            TraceFit(data, fit_config(**{**BUDGET, **settings, "seed": seed})) for seed in SEEDS
        ]
        for data in DATA
        for name, settings in cases.items()
    }
    results = measure(one for several in fits.values() for one in several)
    rows = []
    for data in DATA:
        found = {name: [results[one] for one in fits[data, name]] for name in cases}
        rows += [_row(data, name, found[name]) for name in cases]
        best = [max(FIXED, key=lambda h: found[f"h = {h}"][n]["validation"]) for n in SEEDS]
        chosen = [found[f"h = {h}"][seed] for h, seed in zip(best, SEEDS, strict=True)]
        rows.append(_row(data, "by validation", chosen))
    return Result(
        how=f"R² on the test episodes, ± half of Student's 90 % interval over {len(SEEDS)} seeds "
        "of fits. Data: traces of SAC learning, seed 0. 20 000 model steps each. By validation: "
        f"each seed's fixed horizon with the best mean R² over 1 to {AHEAD} steps on the "
        "validation episodes, which takes a fit of every one. Mean: of the R² up to "
        f"{AHEAD} steps in this table.",
        columns=("data", "weights", "h", *(f"R²({j})" for j in HORIZONS), f"mean up to {AHEAD}"),
        rows=rows,
    )


def _row(data: str, name: str, found: list[dict[str, Any]]) -> tuple[str, ...]:
    horizons = sorted({one["horizon"] for one in found if "horizon" in one})
    values = np.array([one["r2"] for one in found])
    near = values[:, np.array(HORIZONS) <= AHEAD].mean(axis=1, keepdims=True)
    return (data, name, ", ".join(map(str, horizons)), *cells(np.hstack([values, near])))
