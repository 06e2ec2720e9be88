"""Figures of R² against the horizon: models that are fitted, evaluated and drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from farstep import FitConfig
from farstep.evaluation.metrics import ModelMetrics
from farstep.plotting.charts import Chart
from farstep.plotting.evaluation_charts import r2_chart
from farstep.plotting.evaluation_tables import evaluation_tables
from farstep.training.config import fit_config
from reproduction.figure import (
    Drawing,
    Figure,
    Plan,
    Results,
    Row,
    Values,
    long_name,
    short_name,
)
from reproduction.runs import ModelFit, OracleRollout

Metrics: TypeAlias = Mapping[str, Sequence[ModelMetrics]]
"""By dataset; the oracle is last."""
PROFILES = {1: "uniform", 2: "decay:0.9", 4: "decay:0.75", 10: "decay:0.3"}
"""The paper's best weights at each horizon, for the models that agents are trained in."""
ORACLE = "oracle"


@dataclass(frozen=True)
class Budget:
    """How much a preset computes."""

    epochs: int
    """At most, for each fit."""
    seeds: tuple[int, ...]
    datasets: int | None = None
    """Use only the first datasets of a figure."""


_FULL = Budget(epochs=50, seeds=(0, 1, 2))
BUDGETS = {
    "quick": Budget(epochs=2, seeds=(0,), datasets=1),
    "standard": _FULL,
    "paper": _FULL,
}
"""The paper does not give its number of epochs. With early stopping, the validation loss levels off
within 50."""


@dataclass(frozen=True)
class R2Figure(Figure):
    """R² of some models on some datasets, beside the oracle's."""

    datasets: tuple[str, ...]
    """Short names."""
    models: Mapping[str, FitConfig]
    """By name; epochs and seeds come from the preset."""
    charts: Callable[[Metrics], Sequence[Chart]]
    horizon: int = 100
    """Steps ahead at which R² ends."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each model and seed, and one for the oracle, on each dataset."""
        budget, found = plan.budget(BUDGETS), []
        for data in map(long_name, self.datasets[: budget.datasets]):
            for name, model in self.models.items():
                for seed in budget.seeds:
                    config = replace(model, epochs=budget.epochs, seed=seed)
                    found.append(Row(data, name, seed, ModelFit(data, config, self.horizon)))
            found.append(Row(data, ORACLE, None, OracleRollout(data, self.horizon)))
        return found

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return R² by horizon."""
        return r2_columns(row.run, results[row.run])

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the charts, and R² as tables."""
        metrics = r2_metrics(values)
        budget = plan.budget(BUDGETS)
        return Drawing(
            charts=self.charts({short_name(data): found for data, found in metrics.items()}),
            tables={data: evaluation_tables(found)[0] for data, found in metrics.items()},
            notes=[f"{len(budget.seeds)} seeds, at most {budget.epochs} epochs, split seed 0."],
        )


def r2_columns(run: Any, result: Mapping[str, Any]) -> dict[str, float]:
    """Return the R² of a run by column, `r2_10` for 10 steps ahead."""
    values = [float(value) for value in result["r2"]]
    if not values:  # a dataset without a simulator
        return {}
    span = run.horizon // len(values)
    return {f"r2_{span * number}": value for number, value in enumerate(values, 1)}


def r2_metrics(values: Values) -> dict[str, list[ModelMetrics]]:
    """Return the metrics of rows by dataset, with all seeds of a model together."""
    groups: dict[str, dict[str, list[dict[int, float]]]] = {}
    for row, columns in values.items():
        r2 = {int(name[3:]): value for name, value in columns.items() if name.startswith("r2_")}
        r2 = {step: value for step, value in r2.items() if value is not None}
        if r2:
            groups.setdefault(row.data, {}).setdefault(row.model, []).append(r2)
    return {
        data: [_metrics(name, seeds) for name, seeds in models.items()]
        for data, models in groups.items()
    }


def _metrics(name: str, seeds: Sequence[Mapping[int, float]]) -> ModelMetrics:
    steps = np.array(list(seeds[0]))
    r2 = np.array([[seed[step] for step in seeds[0]] for seed in seeds], np.float64)
    return ModelMetrics(name, "oracle" if name == ORACLE else "model", steps, r2[..., None])


def one_chart_each(title: str) -> Callable[[Metrics], list[Chart]]:
    """Return a function that draws one picture for each dataset, named after it."""

    def draw(metrics: Metrics) -> list[Chart]:
        return [r2_chart(found, f"{title}, {data}", name=data) for data, found in metrics.items()]

    return draw


def paper_config(**settings: Any) -> FitConfig:
    """Return the paper's settings for figures of R²: it predicts the next observation."""
    return fit_config("paper", **settings)


def agent_model(horizon: int) -> FitConfig:
    """Return the paper's settings of a model to train agents in: it predicts differences."""
    return fit_config("paper", horizon=horizon, weights=PROFILES[horizon], target="delta")


def model_name(horizon: int) -> str:
    """Return the name of an `agent_model` in figures and tables."""
    weights = "" if horizon == 1 else f", {PROFILES[horizon].replace(':', ' ')}"
    return f"h = {horizon}{weights}"
