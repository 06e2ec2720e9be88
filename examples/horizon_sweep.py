"""A sweep of your own: nine fits, three horizons with three seeds each, and their R² at 50 steps.

Run it with `python horizon_sweep.py`; a killed sweep continues when it is run again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import farstep as fs
from farstep.workflows.sweep import Run, Store, sweep


@dataclass(frozen=True)
class FitHorizon(Run):
    """One fit with a given horizon."""

    horizon: int
    seed: int
    kind: ClassVar[str] = "fit-horizon"

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Fit and evaluate; files of the fit go into the run's own directory."""
        del store  # it gives the results of other runs
        train, validation, test = fs.load_dataset("cartpole-swingup/medium").split(seed=0)
        settings = {"horizon": self.horizon, "weights": "uniform", "seed": self.seed}
        model = fs.fit(train, validation, **settings, out=directory / "model")
        result = fs.evaluate(model, test, horizon=50, references=False)
        return {"r2": result.models[0].at(50)[0]}


def main() -> None:
    """Compute all runs in two processes, and print their results."""
    runs = [FitHorizon(horizon, seed) for horizon in (1, 5, 20) for seed in (0, 1, 2)]
    results = sweep(runs, "horizons", workers=2)
    for run in runs:
        print(run.horizon, run.seed, results[run]["r2"])


if __name__ == "__main__":
    main()
