"""How near the default comes to the oracle, on traces that nothing was tuned on.

Models of the presets `recommended` and `paper`, ensembles of five of the former, and the oracle.
"""

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.harness import RESULTS, Result
from benchmarks.kept_fits import DATA, HORIZONS, KeptFit, oracle, results, scores, table, write
from farstep.dynamics.ensemble import Ensemble
from farstep.model import load_model
from farstep.scoring.intervals import half_width

STUDY = "recommended"
CARTPOLE, OTHERS = ("clean-unseen", "noisy-unseen"), ("pendulum-swingup", "half-cheetah")
SEEDS = {"paper": (5, 3), "recommended": (10, 3)}
"""How many, on cartpole and on the others."""
_MEMBERS = 5


def run() -> Result:
    fits = {
        (data, preset): [
            KeptFit(STUDY, preset, data, seed, {"preset": preset})
            for seed in range(numbers[data in OTHERS])
        ]
        for data in (*CARTPOLE, *OTHERS)
        for preset, numbers in SEEDS.items()
    }
    results([one for some in fits.values() for one in some])
    rows = []
    for (data, preset), some in fits.items():
        rows.append(_row(data, preset, results(some)))
        if preset == "recommended":
            if data in CARTPOLE:
                halves = [some[:_MEMBERS], some[_MEMBERS:]]
                rows.append(_row(data, "ensembles of five", [_together(half) for half in halves]))
            known = oracle(data)
            rows.append((data, "oracle", "", *(f"{known[str(j)]:.4f}" for j in HORIZONS), "", ""))
    return Result(
        how="R² on the test episodes of traces of SAC learning on the real system that nothing "
        "was tuned on (but for half-cheetah's, whose first result led to a change of what auto "
        "chooses, and pendulum's, which the rule of auto was looked at on too), ± half of "
        "Student's 90 % interval over the seeds of fits. Ensembles: the mean of five "
        "recommended models. Diverged: R² below 0 at any of these horizons. Seconds of one core, "
        "compilation included.",
        columns=("trace", "model", "fits", *(f"R²({j})" for j in HORIZONS), "diverged", "s"),
        rows=rows,
    )


def _together(fits: Sequence[KeptFit]) -> dict[str, Any]:
    """Score some models as one."""
    data, first = fits[0].data, fits[0].seed
    stored = RESULTS / STUDY / f"ensemble-{data}-{first}.json"
    content = json.loads(stored.read_text()) if stored.exists() else {}
    if content.get("settings") != fits[0].told:
        dynamics = Ensemble.of([load_model(one.model).dynamics for one in fits], "mean")  # pyright: ignore[reportArgumentType]
        content = {"settings": fits[0].told, "r2": scores(dynamics, DATA[data]().split().test)}
        write(stored, content)
    return content


def _row(data: str, name: str, found: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    values = table(found)
    shown = [f"{m:.4f} ± {h:.4f}" for m, h in zip(values.mean(0), half_width(values), strict=True)]
    seconds = [one["seconds"] for one in found if "seconds" in one]
    diverged = f"{int((values < 0).any(axis=1).sum())} of {len(found)}"
    mean = f"{sum(seconds) / len(seconds):.0f}" if seconds else ""
    return (data, name, str(len(found)), *shown, diverged, mean)
