"""Fits on development data whose scores are kept: each is computed once, on every core.

The scores are in `results/STUDY`, which is committed; what is there with the same settings is not
computed again.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.development_data import WORK, sac_trace
from benchmarks.harness import RESULTS
from benchmarks.pinned import run_all
from farstep.episodes import Episodes
from farstep.errors import DivergedError
from farstep.fields import changed
from farstep.files import publish
from farstep.fitting.config import PAPER, FitConfig, fit_config
from farstep.fitting.fit import fit
from farstep.scoring.errors import errors, mean_r_squared, r_squared
from farstep.systems.registry import system_of

HORIZONS = (1, 10, 25, 50, 100)
CARED_ABOUT = 50
"""The validation score of a fit is the mean of R² up to so many steps ahead."""
DATA: dict[str, Callable[[], Episodes]] = {
    "clean": lambda: sac_trace("cartpole-swingup", 0),
    "noisy": lambda: sac_trace("cartpole-swingup-noisy", 0),
    "clean-unseen": lambda: sac_trace("cartpole-swingup", 1),
    "noisy-unseen": lambda: sac_trace("cartpole-swingup-noisy", 1),
    "pendulum-swingup": lambda: sac_trace("pendulum-swingup", 0),
    "half-cheetah": lambda: sac_trace("half-cheetah", 0),
}
"""Traces of SAC learning on real systems. Recipes were chosen on `clean` and `noisy` alone; the
shipped sets are not looked at."""


@dataclass(frozen=True)
class KeptFit:
    """One fit: its settings, its data, and the names its scores are kept under."""

    study: str
    name: str
    data: str
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    """Of `fit_config`."""
    first: dict[str, Any] = field(default_factory=dict)
    """Changes of the settings for a fit before, whose weights this one starts from."""

    @property
    def config(self) -> FitConfig:
        """The settings of the fit."""
        settings = {"preset": "recommended", **self.settings, "seed": self.seed}
        return fit_config(settings.pop("preset"), **settings)

    @property
    def model(self) -> Path:
        """Where the model is; not committed."""
        return WORK / self.study / self._label

    def result(self) -> dict[str, Any] | None:
        """Return the scores if they are there and of the settings as they are now."""
        stored = RESULTS / self.study / f"{self._label}.json"
        content = json.loads(stored.read_text()) if stored.exists() else {}
        return content if content.get("settings") == self.told else None

    def make(self) -> None:
        """Fit, score, and keep the scores."""
        parts = DATA[self.data]().split()
        began = time.process_time()
        data = (parts.train, parts.validation)
        try:
            start = fit(*data, replace(self.config, **self.first)) if self.first else None
            model = fit(*data, self.config, start=start, out=self.model, force=True)
        except DivergedError:
            lost = float("-inf")
            content: dict[str, Any] = {"validation": lost, "r2": {str(j): lost for j in HORIZONS}}
        else:
            seconds = time.process_time() - began
            validated = r_squared(model.dynamics, parts.validation, CARED_ABOUT)
            content = {
                "seconds": round(seconds, 1),
                "horizon": model.horizon,
                "growth": model.record.get("auto", {}).get("growth"),
                "validation": float(mean_r_squared(validated).mean()),
                "r2": scores(model.dynamics, parts.test),
            }
        told = {"settings": self.told, "data": parts.test.fingerprint}
        write(RESULTS / self.study / f"{self._label}.json", {**told, **content})

    @property
    def _label(self) -> str:
        words = "".join(c if c.isalnum() else "-" for c in self.name)
        return f"{words}-{self.data}-{self.seed}"

    @property
    def told(self) -> dict[str, Any]:
        """What results are told by: settings that differ from the paper's."""
        told = changed(self.config, PAPER)
        return json.loads(json.dumps({**told, "first": self.first} if self.first else told))


def results(fits: Sequence[KeptFit]) -> list[dict[str, Any]]:
    """Return the scores of some fits, computing what is missing."""
    missing = [one for one in fits if one.result() is None]
    for data in {one.data for one in missing}:
        DATA[data]()  # once, before several processes need it
    run_all([f"benchmarks.kept_fits:{one!r}.make()" for one in missing])
    return [one.result() or {} for one in fits]


def oracle(data: str) -> dict[str, float]:
    """Return the oracle's R², by horizon."""
    stored = RESULTS / "oracles" / f"{data}.json"
    if not stored.exists():
        test = DATA[data]().split().test
        known = system_of(test).oracle
        assert known is not None
        write(stored, scores(known(), test))
    return json.loads(stored.read_text())


def scores(predictor: Any, test: Episodes) -> dict[str, float]:
    """Return R² at `HORIZONS`, by horizon."""
    found = mean_r_squared(errors([predictor], test, max(HORIZONS)).r_squared[0, 0])
    return {str(j): float(found[j - 1]) for j in HORIZONS}


def table(found: Sequence[dict[str, Any]]) -> np.ndarray:
    """Return R² by fit and horizon."""
    return np.array([[one["r2"][str(j)] for j in HORIZONS] for one in found])


def write(path: Path, content: dict[str, Any]) -> None:
    """Keep a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    publish(path, {"": json.dumps(content, indent=1).encode() + b"\n"}, force=True)
