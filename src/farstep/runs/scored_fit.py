"""A run: a model fitted on a dataset and scored on its test part."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farstep.datasets.reading import read
from farstep.errors import DivergedError
from farstep.fields import changed
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.fit import fit
from farstep.model import Model
from farstep.runs.r2 import encoded
from farstep.runs.run import Run, Runs
from farstep.scoring.errors import r_squared


@dataclass(frozen=True)
class ScoredFit(Run):
    """What is fitted and scored."""

    data: str
    config: FitConfig
    horizon: int = 100
    """Steps ahead that it is scored to."""
    split_seed: int = 0

    kind: ClassVar[str] = "fit"

    @property
    def settings(self) -> dict[str, Any]:
        """Only what differs from the paper's settings counts of the fit's.

        So a setting that is added later, and is off there, changes no name.
        """
        return {
            "data": self.data,
            "config": changed(self.config, PAPER),
            "horizon": self.horizon,
            "split_seed": self.split_seed,
        }

    @property
    def reads(self) -> tuple[str, ...]:
        """What it is scored on."""
        return (self.data,)

    @property
    def usual_seconds(self) -> float:
        """For 36 episodes of a thousand steps."""
        config, cost = self.config, self.config.composition_cost
        if config.epochs:
            passes = config.members * config.epochs
            return 12 + passes * (0.6 + 0.5 * config.horizon * cost)
        return 10 + config.members * 0.0018 * config.compositions * cost

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Fit and score; a fit that diverges scores minus infinity."""
        del store
        test = read(self.data).split(self.split_seed).test
        try:
            values = r_squared(self.model(place).dynamics, test, self.horizon)
        except DivergedError:
            count = self.horizon // self.config.stride
            values = np.full((count, test.signals.num_states), -np.inf)
        return {"r2": encoded(values)}

    def model(self, place: Path) -> Model:
        """Return the model; what `place` has of it is not computed again."""
        parts = read(self.data).split(self.split_seed)
        return fit(parts.train, parts.validation, self.config, out=place / "model")
