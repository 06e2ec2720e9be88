"""Which settings of a fit pay: each recipe on development data, clean and noisy.

The four named datasets are not looked at.
"""

from typing import Any

import numpy as np

from benchmarks.harness import Result
from benchmarks.kept_fits import HORIZONS, KeptFit, oracle, results, table
from farstep.scoring.intervals import half_width

DATA = ("clean", "noisy")
BASE: dict[str, Any] = {
    "preset": "paper",
    "horizon": 10,
    "target": "delta",
    "depth": 3,
    "activation": "silu",
    "normalisation": "none",
    "dropout": 0.0,
    "batch": 256,
    "learning_rate": 3e-3,
    "schedule": "cosine",
    "epochs": 8,
    "patience": 1000,
}
"""About a minute of one core."""
RECIPES: dict[str, dict[str, Any]] = {
    "base": {},
    "h = 1": {"horizon": 1, "epochs": 80},
    "h = 3": {"horizon": 3, "epochs": 27},
    "h = 5": {"horizon": 5, "epochs": 16},
    "h = 20": {"horizon": 20, "epochs": 4},
    "h = 10, gradient cut after 5": {"gradient": "truncated:5"},
    "decay 0.75": {"weights": "decay:0.75"},
    "proportional": {"weights": "proportional"},
    "h grows from 1 to 10": {"epochs": 6},
    "layer norm": {"normalisation": "layer"},
    "residual": {"residual": True},
    "two layers": {"depth": 2, "epochs": 13},
    "four layers": {"depth": 4, "epochs": 6},
    "width 128": {"width": 128, "epochs": 22},
    "tanh": {"activation": "tanh"},
    "gelu": {"activation": "gelu"},
    "lr 1e-3": {"learning_rate": 1e-3},
    "lr 6e-3, clip 1": {"learning_rate": 6e-3, "clip": 1.0},
    "clip 1": {"clip": 1.0},
    "batch 128": {"batch": 128, "epochs": 7},
    "weight decay 0.01": {"weight_decay": 0.01},
    "average 0.999": {"average": 0.999},
    "errors in units of differences": {"units": "target"},
    "next state as target": {"target": "next"},
    "nll": {"loss": "nll"},
    "circle": {"angles": ((1, 2),)},
    "noise 0.01 on inputs": {"input_noise": 0.01},
}
_NARROW: dict[str, Any] = {"width": 128, "residual": True, "clip": 1.0, "epochs": 22}
COMBINED: dict[str, dict[str, Any]] = {
    "narrow: width 128, residual, clip 1": _NARROW,
    "narrow, lr 6e-3": {**_NARROW, "learning_rate": 6e-3},
    "narrow, lr 1.2e-2": {**_NARROW, "learning_rate": 1.2e-2},
    "narrow, lr 6e-3, h = 20": {**_NARROW, "learning_rate": 6e-3, "horizon": 20, "epochs": 11},
}
"""What paid, together."""
FIRST = {"h grows from 1 to 10": {"horizon": 1, "epochs": 20}}
"""What is fitted before, by recipe."""
SEEDS = {
    **dict.fromkeys(RECIPES, (0,)),
    **dict.fromkeys(COMBINED, (0, 1, 2)),
    "narrow, lr 1.2e-2": (0,),
}
_SHOWN = HORIZONS[1:]


def run() -> Result:
    settings = {**COMBINED, **RECIPES}
    fits = {
        (name, data): [
            KeptFit(
                *("model_study", name, data, seed),
                settings={**BASE, **settings[name]},
                first=FIRST.get(name, {}),
            )
            for seed in SEEDS[name]
        ]
        for name in settings
        for data in DATA
    }
    results([one for some in fits.values() for one in some])
    rows = []
    for name in settings:
        row = [name, str(len(SEEDS[name]))]
        for data in DATA:
            found = results(fits[name, data])
            known = np.array([oracle(data)[str(j)] for j in HORIZONS])
            gaps = (known - table(found))[:, -len(_SHOWN) :]
            row += [_shown(column) for column in gaps.T]
            row.append(f"{np.mean([one.get('seconds', np.nan) for one in found]):.0f}")
        rows.append(tuple(row))
    gaps = [f"{data} {j}" for data in DATA for j in (*_SHOWN, "s")]
    return Result(
        how="The oracle's R² less the model's, that many steps ahead, on the test episodes of a "
        "trace of SAC learning (seed 0), over that many seeds of fits, ± half of Student's 90 % "
        "interval; seconds of one core, compilation included. Base: "
        + ", ".join(f"{name} {value}" for name, value in BASE.items())
        + ". Other epochs make up for a recipe's cost, about.",
        columns=("recipe", "seeds", *gaps),
        rows=rows,
    )


def _shown(gaps: np.ndarray) -> str:
    if (gaps > 1).any():
        return f"diverges ({int((gaps > 1).sum())} of {len(gaps)})"
    return f"{gaps.mean():.4f}" + (f" ± {half_width(gaps):.4f}" if len(gaps) > 1 else "")
