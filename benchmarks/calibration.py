"""How well the default model knows its own error, alone and as an ensemble of three."""

from collections.abc import Sequence

import numpy as np

from benchmarks.development_data import WORK
from benchmarks.harness import Result
from farstep.datasets.shipped import load
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.episodes import Episodes
from farstep.fitting.config import fit_config
from farstep.fitting.fit import fit
from farstep.scoring.calibration import LEVELS, calibration

DATA = ("medium", "expert_noisy")
MODELS = {"paper": {"horizon": 4, "weights": "decay:0.75"}, "recommended": {}}
HORIZONS = (1, 10, 25, 50, 100)
SEEDS = range(3)


def run() -> Result:
    rows = []
    for data in DATA:
        parts = load(f"cartpole-swingup/{data}").split()
        for preset, settings in MODELS.items():
            models = []
            for seed in SEEDS:
                config = fit_config(preset, **settings, seed=seed)
                out = WORK / "calibration" / f"{data}-{preset}-{seed}"
                models.append(fit(parts.train, parts.validation, config, out=out).dynamics)
            rows += _rows(data, preset, models, parts.test)
            if preset == "recommended":
                rows += _rows(data, "three of them", [Ensemble.of(models, "rollout")], parts.test)
    return Result(
        how=f"Share of the test episodes' states inside the models' central {_percent(LEVELS[0])} "
        f"and {_percent(LEVELS[1])} intervals, so many steps ahead, and CRPS in deviations "
        f"of the states: mean of {len(SEEDS)} fits (least to most), measured as `farstep score` "
        "does. Of the ensemble each sampled rollout is of one member.",
        columns=("data", "model", "measure", *(f"{j} steps" for j in HORIZONS)),
        rows=rows,
    )


def _rows(
    data: str, name: str, models: Sequence[Dynamics], test: Episodes
) -> list[tuple[str, ...]]:
    found = [calibration(model, test, max(HORIZONS)) for model in models]
    measures = {
        f"{_percent(level)} interval": ([one.coverage[n] for one in found if one], _percent)
        for n, level in enumerate(LEVELS)
    }
    measures["CRPS"] = ([one.crps for one in found if one], _plain)
    rows = []
    for measure, (values, shown) in measures.items():
        at = np.array(values)[:, np.array(HORIZONS) - 1].T
        cells = [
            shown(one.mean())
            + (f" ({shown(one.min())} to {shown(one.max())})" if len(one) > 1 else "")
            for one in at
        ]
        rows.append((data, name, measure, *cells))
    return rows


def _plain(value: float) -> str:
    return f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")
