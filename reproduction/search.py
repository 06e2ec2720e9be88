"""Search for the settings of the paper's network by validation R² on all datasets."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import farstep as fs
from farstep import FitConfig
from farstep.plotting.charts import Table
from farstep.runtime.machine import require
from farstep.settings import changed
from farstep.workflows.runs import Run, Store
from farstep.workflows.tune import SPACE, TrialFit, Tuned
from reproduction.figure import DATASETS, Drawing, Figure, Plan, Results, Row, Values, long_name
from reproduction.runs import PAPER

EVALUATION_HORIZON = 50
_SHOWN = 5
_PAPER_ROW = "the paper's"


@dataclass(frozen=True)
class Search(Run):
    """One search, over several datasets."""

    datasets: tuple[str, ...]
    config: FitConfig
    trials: int

    kind: ClassVar[str] = "search"

    @property
    def settings(self) -> dict[str, Any]:
        """Data, the settings that are not searched, and the number of trials."""
        fit = changed(self.config, PAPER)
        return {"data": list(self.datasets), "fit": fit, "trials": self.trials}

    @property
    def reads(self) -> tuple[str, ...]:
        """All datasets."""
        return self.datasets

    @property
    def usual_seconds(self) -> float:
        """For trials of which some end early: each compiles, then fits on every dataset."""
        return self.trials * (10 + len(self.datasets) * 0.35 * (self.config.epochs or 0))

    def check(self) -> None:
        """Fail if Optuna is not installed."""
        require("tune")

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return all trials."""
        del store
        found = fs.tune(
            self.datasets,
            fit=self.config,
            out=directory / "study",
            trials=self.trials,
            evaluation_horizon=EVALUATION_HORIZON,
            workers=1,
        )
        return {"trials": found.trials}


@dataclass(frozen=True)
class FixedSettings(TrialFit):
    """The value that a search would give to some settings on one dataset."""

    @property
    def settings(self) -> dict[str, Any]:
        """The fit's differences from the preset `paper`."""
        return {**super().settings, "fit": changed(self.fit, PAPER)}


@dataclass(frozen=True)
class Budget:
    """How much a preset searches."""

    trials: int
    epochs: int
    datasets: tuple[str, ...]


BUDGETS = {
    "quick": Budget(3, 1, ("random",)),
    "standard": Budget(20, 10, DATASETS),
    "paper": Budget(100, 50, DATASETS),
}


@dataclass(frozen=True)
class SearchFigure(Figure):
    """The search, beside the paper's own settings."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each trial, and one for the paper's settings on each dataset."""
        budget = BUDGETS[plan.preset]
        names = tuple(map(long_name, budget.datasets))
        config = replace(PAPER, epochs=budget.epochs)
        search = Search(names, config, budget.trials)
        trials = [Row("all", f"trial {number}", 0, search) for number in range(budget.trials)]
        papers = [FixedSettings(data, config, EVALUATION_HORIZON) for data in names]
        return [*trials, *(Row(run.data, _PAPER_ROW, 0, run) for run in papers)]

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return the mean R² of a trial, None if it ended early, and its settings."""
        result = results[row.run]
        if row.model == _PAPER_ROW:
            return {"value": result["value"], **{name: getattr(PAPER, name) for name in SPACE}}
        trial = result["trials"][int(row.model.split()[-1])]
        return {"value": trial["value"], **{name: trial["settings"][name] for name in SPACE}}

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the search, and list its best settings and the paper's."""
        trials, papers = [], []
        for row, columns in values.items():
            if row.model == _PAPER_ROW:
                papers.append(columns["value"])
            else:
                settings = {name: columns[name] for name in SPACE}
                trials.append({"number": len(trials), **columns, "settings": settings})
        known = [one for one in trials if one["value"] is not None]
        best = sorted(known, key=lambda one: -one["value"])
        rows = [
            [
                str(one["number"]),
                f"{one['value']:.4f}",
                *(f"{value:.3g}" for value in one["settings"].values()),
            ]
            for one in best[:_SHOWN]
        ]
        given = (f"{getattr(PAPER, name):.3g}" for name in SPACE)
        rows.append([_PAPER_ROW, f"{np.mean(papers):.4f}", *given])
        table = Table("Best settings by mean R² on validation", ["trial", "R²", *SPACE], rows)
        chart = Tuned(PAPER, best[0]["value"], tuple(trials)).chart()
        return Drawing([chart], tables={"best": table}, notes=_notes(plan))


def _notes(plan: Plan) -> list[str]:
    budget = BUDGETS[plan.preset]
    note = (
        f"{budget.trials} trials, at most {budget.epochs} epochs, h = 1, R² over 1 to "
        f"{EVALUATION_HORIZON} steps, one seed (the paper does not give its number of seeds)."
    )
    ignored = [f"--seeds {plan.seeds} has no effect: a search has one seed."]
    return [note, *(ignored if plan.seeds not in (None, 1) else [])]


FIGURE = SearchFigure(
    "search", "search for the network's settings by validation R² on all datasets"
)
