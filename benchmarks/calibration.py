"""How well a model knows its own error: the paper's preset, the default, and three of it."""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.harness import WORK, Result, size
from farstep import Episodes, fit, load_dataset
from farstep.evaluation.calibration import LEVELS, calibration
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.training.config import fit_config

DATA = size(("medium", "expert_noisy"), ("medium",))
MODELS = {"paper": {"horizon": 4, "weights": "decay:0.75"}, "default": {}}
HORIZONS = size((1, 10, 25, 50, 100), (1, 5))
SEEDS = range(size(3, 2))
QUICK = size({}, {"width": 8, "epochs": 1})


def run() -> Result:
    rows = []
    for data in DATA:
        episodes = load_dataset(f"cartpole-swingup/{data}")
        train, validation, test = episodes.take(range(size(len(episodes), 6))).split()
        for preset, settings in MODELS.items():
            models = []
            for seed in SEEDS:
                config = fit_config(preset, **settings, **QUICK, seed=seed)
                out = size(WORK / "calibration" / f"{data}-{preset}-{seed}", None)
                models.append(fit(train, validation, config, out=out).dynamics)
            rows += _rows(data, preset, models, test)
            if preset == "default":
                rows += _rows(data, "three of it", [Ensemble.of(models, "rollout")], test)
    return Result(
        how="Share of the test episodes' observations inside the models' central "
        f"{_percent(LEVELS[0])} and {_percent(LEVELS[1])} intervals, so many steps ahead, and CRPS "
        f"in standard deviations of the observations: mean of {len(SEEDS)} fits (least to most), "
        "measured as `farstep evaluate` does. Each sampled rollout of the ensemble is of one "
        "member.",
        columns=("data", "model", "measure", *(f"{j} steps" for j in HORIZONS)),
        rows=rows,
    )


def _rows(
    data: str, name: str, models: Sequence[Dynamics], test: Episodes
) -> list[tuple[str, ...]]:
    found = [one for model in models if (one := calibration(model, test, max(HORIZONS)))]
    measures: dict[str, tuple[np.ndarray, Callable[[float], str]]] = {
        f"{_percent(level)} interval": (np.array([one.coverage[n] for one in found]), _percent)
        for n, level in enumerate(LEVELS)
    }
    measures["CRPS"] = (np.array([one.crps for one in found]), "{:.3f}".format)
    rows = []
    for measure, (values, shown) in measures.items():
        cells = [
            shown(one.mean())
            + (f" ({shown(one.min())} to {shown(one.max())})" if len(one) > 1 else "")
            for one in values[:, np.array(HORIZONS) - 1].T
        ]
        rows.append((data, name, measure, *cells))
    return rows


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")
