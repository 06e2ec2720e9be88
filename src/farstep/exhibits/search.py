"""Search for the settings of the paper's network by validation R² on all datasets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farstep.exhibits.exhibit import DATASETS, Plan, Results, Shown, whole
from farstep.fields import changed
from farstep.fitting.config import PAPER, FitConfig
from farstep.packages import require
from farstep.report.table import Table
from farstep.runs.run import Run, Runs
from farstep.tuning import SPACE, TrialFit, Tuned, tune

CARE_ABOUT = 50
_SHOWN = 5


@dataclass(frozen=True)
class Search(Run):
    """A run: one search, over several datasets."""

    datasets: tuple[str, ...]
    config: FitConfig
    trials: int

    kind: ClassVar[str] = "search"

    @property
    def settings(self) -> dict[str, Any]:
        """Data, what is not searched, and how long it is searched."""
        return {
            "datasets": self.datasets,
            "config": changed(self.config, PAPER),
            "trials": self.trials,
            "care_about": CARE_ABOUT,
        }

    @property
    def reads(self) -> tuple[str, ...]:
        """All of the datasets."""
        return self.datasets

    @property
    def usual_seconds(self) -> float:
        """For trials of which some end early: each compiles, then fits on every dataset."""
        epochs = self.config.epochs or 0
        return self.trials * (10 + len(self.datasets) * 0.35 * epochs)

    def check(self) -> None:
        """Fail if there is no Optuna."""
        require("tune")

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Search, in this process alone."""
        del store
        found = tune(
            self.datasets,
            self.config,
            out=place / "study",  # a place of its own: the run's is locked while it computes
            trials=self.trials,
            care_about=CARE_ABOUT,
            workers=1,
        )
        return {"value": found.value, "trials": found.trials}


@dataclass(frozen=True)
class Amount:
    """How much a preset searches."""

    trials: int
    epochs: int
    datasets: tuple[str, ...]


AMOUNTS = {
    "quick": Amount(3, 1, ("random",)),
    "standard": Amount(20, 10, DATASETS),
    "paper": Amount(100, 50, DATASETS),
}


@dataclass(frozen=True)
class SearchExhibit:
    """The search, and the paper's own settings beside what it finds."""

    name: str = "search"
    about: str = "search for the network's settings by validation R² on all datasets"

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return the one search, and the paper's settings on the same datasets."""
        search = _search(plan)
        return [search, *_papers(search)]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Draw the search, and list its best settings and the paper's."""
        search = _search(plan)
        result = results[search]
        tuned = Tuned(search.config, result["value"], tuple(result["trials"]))
        best = sorted(
            (one for one in tuned.trials if one["value"] is not None),
            key=lambda one: -one["value"],
        )
        rows = [
            [
                str(one["number"]),
                f"{one['value']:.4f}",
                *(f"{v:.3g}" for v in one["settings"].values()),
            ]
            for one in best[:_SHOWN]
        ]
        papers = np.mean([results[run]["value"] for run in _papers(search)])
        given = (f"{getattr(PAPER, name):.3g}" for name in SPACE)
        rows.append(["the paper's", f"{papers:.4f}", *given])
        table = Table("Best settings by mean R² on validation", ["trial", "R²", *SPACE], rows)
        numbers = {"trials": list(tuned.trials)}
        return Shown([tuned.chart()], tables={"best": table}, notes=_said(plan), numbers=numbers)


def _search(plan: Plan) -> Search:
    amount = AMOUNTS[plan.preset]
    datasets = tuple(map(whole, amount.datasets))
    return Search(datasets, replace(PAPER, epochs=amount.epochs), amount.trials)


def _papers(search: Search) -> list[TrialFit]:
    return [TrialFit(data, search.config, CARE_ABOUT) for data in search.datasets]


def _said(plan: Plan) -> list[str]:
    amount = AMOUNTS[plan.preset]
    note = (
        f"{amount.trials} trials, at most {amount.epochs} epochs, h = 1, R² over 1 to "
        f"{CARE_ABOUT} steps, one seed (the paper does not say how many seeds it used)."
    )
    ignored = plan.seeds not in (None, 1)
    return [note, f"{plan.seeds} seeds were asked for; a search has one."] if ignored else [note]


EXHIBIT = SearchExhibit()
