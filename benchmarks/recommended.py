"""How near the default comes to the oracle, on traces that nothing was tuned on.

Models of the presets `recommended` and `paper`, ensembles of five of the former, and the oracle.
Fits are kept in `benchmarks/work`, their scores in `results/recommended`: what is there is not
computed again.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.development_data import WORK, sac_trace
from benchmarks.harness import RESULTS, Result
from benchmarks.pinned import run_all
from farstep.dynamics.ensemble import Ensemble
from farstep.episodes import Episodes
from farstep.files import publish
from farstep.fitting.fit import fit
from farstep.model import load_model
from farstep.scoring.errors import errors, mean_r_squared
from farstep.scoring.intervals import half_width
from farstep.systems.registry import system_of

HORIZONS = (1, 10, 25, 50, 100)
TRACES = {
    "cartpole-swingup": 1,
    "cartpole-swingup-noisy": 1,
    "pendulum-swingup": 0,
    "half-cheetah": 0,
}
"""The trace of each system; those with seed 0 of cartpole are what the recipe was chosen on."""
SEEDS = {"paper": 5, "recommended": 10}
_COMPARED = 3
"""Seeds on the systems that are not cartpole."""
_MEMBERS = 5


def run() -> Result:
    fits = [
        (system, preset, seed)
        for system in TRACES
        for preset in SEEDS
        for seed in range(_seeds(system, preset))
    ]
    for system in TRACES:
        sac_trace(system, TRACES[system])  # once, before several processes need it
    calls = [f"benchmarks.recommended:make{one}" for one in fits if not _stored(*one).exists()]
    run_all(calls)
    together = [
        (system, first)
        for system in TRACES
        for first in range(0, _seeds(system, "recommended"), _MEMBERS)
        if _seeds(system, "recommended") - first >= _MEMBERS
    ]
    calls = [
        f"benchmarks.recommended:combine{one}"
        for one in together
        if not _stored(one[0], "ensemble", one[1]).exists()
    ]
    run_all(calls)
    rows = []
    for system in TRACES:
        ensembles = [first for name, first in together if name == system]
        rows.append(_row(system, "paper", range(_seeds(system, "paper"))))
        rows.append(_row(system, "recommended", range(_seeds(system, "recommended"))))
        if ensembles:
            rows.append(_row(system, "ensemble", ensembles))
        rows.append((system, "oracle", "", *(f"{v:.4f}" for v in _oracle(system)), "", ""))
    return Result(
        how="R² on the test episodes of a trace of SAC learning on the real system that nothing "
        "was tuned on, ± half of Student's 90 % interval over the seeds of fits. ensemble: the "
        "mean of five recommended models. Diverged: R² below 0 at any of these horizons. Seconds "
        "of one core, compilation included.",
        columns=("system", "model", "fits", *(f"R²({j})" for j in HORIZONS), "diverged", "s"),
        rows=rows,
    )


def make(system: str, preset: str, seed: int) -> None:
    """Fit and score one model."""
    parts = sac_trace(system, TRACES[system]).split()
    began = time.process_time()
    model = fit(
        parts.train,
        parts.validation,
        preset,
        seed=seed,
        out=_place(system, preset, seed),
        force=True,
    )
    seconds = time.process_time() - began
    content = {"seconds": round(seconds, 1), "horizon": model.config["horizon"]}
    content["growth"] = model.record.get("auto", {}).get("growth")
    _write(_stored(system, preset, seed), {**content, "r2": _scores(model.dynamics, parts.test)})


def combine(system: str, first: int) -> None:
    """Score five models as one."""
    members = [load_model(_place(system, "recommended", first + i)) for i in range(_MEMBERS)]
    dynamics = Ensemble.of([member.dynamics for member in members], "mean")  # pyright: ignore[reportArgumentType]
    test = sac_trace(system, TRACES[system]).split().test
    _write(_stored(system, "ensemble", first), {"r2": _scores(dynamics, test)})


def _oracle(system: str) -> list[float]:
    stored = _stored(system, "oracle", 0)
    if not stored.exists():
        test = sac_trace(system, TRACES[system]).split().test
        oracle = system_of(test).oracle
        assert oracle is not None
        _write(stored, {"r2": _scores(oracle(), test)})
    return json.loads(stored.read_text())["r2"]


def _row(system: str, name: str, numbers: Any) -> tuple[str, ...]:
    found = [json.loads(_stored(system, name, number).read_text()) for number in numbers]
    scores = np.array([one["r2"] for one in found])
    shown = [
        f"{mean:.4f}" + (f" ± {half:.4f}" if len(found) > 1 else "")
        for mean, half in zip(scores.mean(0), half_width(scores), strict=True)
    ]
    seconds = [one["seconds"] for one in found if "seconds" in one]
    diverged = f"{int((scores < 0).any(axis=1).sum())} of {len(found)}"
    return (
        system,
        name,
        str(len(found)),
        *shown,
        diverged,
        f"{np.mean(seconds):.0f}" if seconds else "",
    )


def _scores(predictor: Any, test: Episodes) -> list[float]:
    scores = mean_r_squared(errors([predictor], test, max(HORIZONS)).r_squared[0, 0])
    return [float(scores[j - 1]) for j in HORIZONS]


def _seeds(system: str, preset: str) -> int:
    return SEEDS[preset] if system.startswith("cartpole") else _COMPARED


def _place(system: str, preset: str, seed: int) -> Path:
    return WORK / "recommended" / system / f"{preset}-{seed}"


def _stored(system: str, name: str, number: int) -> Path:
    return RESULTS / "recommended" / f"{system}-{name}-{number}.json"


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    publish(path, {"": json.dumps(content, indent=1).encode() + b"\n"}, force=True)
