"""Exhibits of R²: models that are fitted, scored on the test part, and drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from farstep.exhibits.exhibit import Plan, Results, Shown, short, whole
from farstep.fitting.config import FitConfig, fit_config
from farstep.report.charts import Chart
from farstep.report.score_table import score_tables
from farstep.report.scores import r2_chart
from farstep.runs.r2 import decoded
from farstep.runs.run import Run
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.scored_oracle import ScoredOracle
from farstep.scoring.score import Score

Scores: TypeAlias = Mapping[str, Sequence[Score]]
"""By dataset; the oracle comes last."""
PROFILES = {1: "uniform", 2: "decay:0.9", 4: "decay:0.75", 10: "decay:0.3"}
"""The paper's best profile at each horizon, for its agents."""


@dataclass(frozen=True)
class Amount:
    """How much a preset computes."""

    epochs: int
    """At most, for each fit."""
    seeds: tuple[int, ...]
    datasets: int | None = None
    """Use only this many of an exhibit's datasets."""


_WHOLE = Amount(epochs=50, seeds=(0, 1, 2))
AMOUNTS = {
    "quick": Amount(epochs=2, seeds=(0,), datasets=1),
    "standard": _WHOLE,
    "paper": _WHOLE,
}
"""The paper does not say how many epochs it trained for; 50 with early stopping are enough for
the validation loss to level off."""


@dataclass(frozen=True)
class ScoredExhibit:
    """R² of some models on some datasets."""

    name: str
    about: str
    datasets: tuple[str, ...]
    """Those of the paper, by name."""
    cases: Mapping[str, FitConfig]
    """What is fitted, by the name of its line; epochs and seeds come from the preset."""
    draw: Callable[[Scores], Sequence[Chart]]
    horizon: int = 100
    """Steps ahead that the models are scored to."""

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return every fit, and the oracles."""
        amount = plan.of(AMOUNTS)
        datasets = self.data_of(amount)
        fits = [
            self.run_of(data, line, seed, amount)
            for data in datasets
            for line in self.cases
            for seed in amount.seeds
        ]
        return [*fits, *(ScoredOracle(data, self.horizon) for data in datasets)]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Return the charts, and R² as tables."""
        amount = plan.of(AMOUNTS)
        scores = {
            data: [
                *(
                    self._score(
                        line,
                        [
                            decoded(results[self.run_of(data, line, seed, amount)]["r2"])
                            for seed in amount.seeds
                        ],
                    )
                    for line in self.cases
                ),
                *self._oracle(results[ScoredOracle(data, self.horizon)]["r2"]),
            ]
            for data in self.data_of(amount)
        }
        return Shown(
            charts=self.draw({short(data): found for data, found in scores.items()}),
            tables={data: score_tables(found)[0] for data, found in scores.items()},
            notes=[_budget(amount)],
            numbers={data: [one.to_json() for one in found] for data, found in scores.items()},
        )

    def data_of(self, amount: Amount) -> list[str]:
        """Return the whole names of the datasets to use."""
        return [whole(name) for name in self.datasets[: amount.datasets]]

    def run_of(self, data: str, line: str, seed: int, amount: Amount) -> ScoredFit:
        """Return one fit."""
        config = replace(self.cases[line], epochs=amount.epochs, seed=seed)
        return ScoredFit(data, config, self.horizon)

    def _score(self, name: str, values: Sequence[np.ndarray]) -> Score:
        stride = self.horizon // len(values[0])
        return Score(name, "model", np.arange(stride, self.horizon + 1, stride), np.stack(values))

    def _oracle(self, values: list | None) -> list[Score]:
        if values is None:
            return []
        steps = np.arange(1, self.horizon + 1)
        return [Score("oracle", "oracle", steps, decoded(values)[None])]


def one_chart_each(title: str) -> Callable[[Scores], list[Chart]]:
    """Return a drawing with one picture for each dataset, named after it."""

    def draw(scores: Scores) -> list[Chart]:
        return [r2_chart(found, f"{title}, {data}", name=data) for data, found in scores.items()]

    return draw


def static(horizon: int = 1, weights: str = "uniform", stride: int = 1) -> FitConfig:
    """Return the paper's settings for its R² figures: the next state as target, mse."""
    return fit_config("paper", horizon=horizon, weights=weights, stride=stride)


def agents_model(horizon: int) -> FitConfig:
    """Return the paper's settings of models to train agents in: they predict differences."""
    return fit_config("paper", horizon=horizon, weights=PROFILES[horizon], target="delta")


def line_name(horizon: int) -> str:
    """Return how figures and tables call a model of `agents_model`."""
    profile = "" if horizon == 1 else f", {PROFILES[horizon].replace(':', ' ')}"
    return f"h = {horizon}{profile}"


def _budget(amount: Amount) -> str:
    return (
        f"{len(amount.seeds)} seeds, at most {amount.epochs} epochs, "
        f"split seed {ScoredFit.split_seed}."
    )
