"""Which settings of a fit pay: each recipe on development data, clean and noisy.

Every result is kept in `results/model_study`; what is there with the same settings is not computed
again. The four named datasets are not looked at.
"""

import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.development_data import sac_trace
from benchmarks.harness import RESULTS, Result
from benchmarks.pinned import run_all
from farstep.errors import DivergedError
from farstep.files import publish
from farstep.fitting.config import PAPER
from farstep.fitting.fit import fit
from farstep.scoring.errors import errors, mean_r_squared, r_squared
from farstep.systems.registry import system_of

_SYSTEMS = ("cartpole-swingup", "cartpole-swingup-noisy")
HORIZONS = (10, 25, 50, 100)
SEEDS = (0,)
BASE: dict[str, Any] = {
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
    "batch 512": {"batch": 512, "epochs": 8},
    "weight decay 0.01": {"weight_decay": 0.01},
    "average 0.999": {"average": 0.999},
    "errors in units of differences": {"units": "target"},
    "next state as target": {"target": "next"},
    "nll": {"loss": "nll"},
    "circle": {"angles": ((1, 2),)},
    "noise 0.01 on inputs": {"input_noise": 0.01},
    "chosen by R² over 50 steps": {"stop_on": "r2"},
}


def run() -> Result:
    runs = [(n, noisy, seed) for n in RECIPES for noisy in (False, True) for seed in SEEDS]
    missing = [one for one in runs if _result(*one) is None]
    for noisy in {one[1] for one in missing}:
        _oracle(noisy)  # once, and the trace with it, before several processes need it
    run_all([f"benchmarks.model_study:make{one}" for one in missing])
    rows = []
    for name in RECIPES:
        row = [name]
        for noisy in (False, True):
            found = [_result(name, noisy, seed) or {} for seed in SEEDS]
            row += [_shown(_gap(found, j)) for j in HORIZONS]
            row.append(f"{statistics.mean(one['seconds'] for one in found):.0f}")
        rows.append(tuple(row))
    gaps = [f"{data} {j}" for data in ("clean", "noisy") for j in (*HORIZONS, "s")]
    return Result(
        how="The oracle's R² less the model's, that many steps ahead, on the test episodes of a "
        f"trace of SAC learning (seed 0), fit seeds {SEEDS}; seconds of one core, compilation "
        "included. Base: "
        + ", ".join(f"{name} {value}" for name, value in BASE.items())
        + ". Other epochs make up for a recipe's cost, about.",
        columns=("recipe", *gaps),
        rows=rows,
    )


def make(name: str, noisy: bool, seed: int) -> None:
    """Fit and score one model, and keep its result."""
    parts = sac_trace(_SYSTEMS[noisy]).split()
    config = replace(PAPER, **{**BASE, **RECIPES[name]}, seed=seed)
    began = time.process_time()
    try:
        model = fit(parts.train, parts.validation, config)
    except DivergedError:
        scores = np.full(max(HORIZONS), -np.inf)
    else:
        scores = mean_r_squared(r_squared(model.dynamics, parts.test, max(HORIZONS)))
    seconds = time.process_time() - began
    content = {
        "recipe": name,
        "settings": {**BASE, **RECIPES[name]},
        "data": parts.test.fingerprint,
        "seconds": round(seconds, 1),
        "r2": {str(j): float(scores[j - 1]) for j in (1, *HORIZONS)},
        "oracle": _oracle(noisy),
    }
    _write(_stored(name, noisy, seed), content)


def _oracle(noisy: bool) -> dict[str, float]:
    stored = RESULTS / "model_study" / f"oracle-{'noisy' if noisy else 'clean'}.json"
    if not stored.exists():
        test = sac_trace(_SYSTEMS[noisy]).split().test
        oracle = system_of(test).oracle
        assert oracle is not None
        scores = mean_r_squared(errors([oracle()], test, max(HORIZONS)).r_squared[0, 0])
        _write(stored, {str(j): float(scores[j - 1]) for j in (1, *HORIZONS)})
    return json.loads(stored.read_text())


def _gap(found: list[dict[str, Any]], horizon: int) -> float:
    j = str(horizon)
    return statistics.mean(one["oracle"][j] - one["r2"][j] for one in found)


def _shown(gap: float) -> str:
    return f"{gap:.4f}" if gap < 1 else "diverges"


def _result(name: str, noisy: bool, seed: int) -> dict[str, Any] | None:
    """Return a result that is there and of the settings as they are now."""
    stored = _stored(name, noisy, seed)
    content = json.loads(stored.read_text()) if stored.exists() else {}
    wanted = json.loads(json.dumps({**BASE, **RECIPES[name]}))
    return content if content.get("settings") == wanted else None


def _write(path: Path, content: dict[str, Any]) -> None:
    publish(path, {"": json.dumps(content, indent=1).encode() + b"\n"}, force=True)


def _stored(name: str, noisy: bool, seed: int) -> Path:
    words = "".join(c if c.isalnum() else "-" for c in name)
    return RESULTS / "model_study" / f"{words}-{'noisy' if noisy else 'clean'}-{seed}.json"
