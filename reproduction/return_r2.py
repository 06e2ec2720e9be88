"""Return of each model's agent against the model's R² (the paper's figure 5)."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from farstep.plotting.charts import COLOURS, Chart, Line, Panel, Table
from reproduction.figure import Drawing, Figure, Plan, Results, Row, Values, short_name
from reproduction.offline_table import BUDGETS, agent_rows
from reproduction.r2_figure import r2_columns
from reproduction.statistics import correlation

HORIZONS = (1, 5, 10, 25, 50)
Points: TypeAlias = dict[str, list[tuple[np.ndarray, float]]]
"""R² at `HORIZONS` and the return of each agent, by model."""


@dataclass(frozen=True)
class ReturnAgainstR2(Figure):
    """The agents of the offline table, one point each."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each agent and its model."""
        return agent_rows(plan)

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return the agent's return and its model's R²."""
        (fit,) = row.also
        r2 = r2_columns(fit, results[fit])
        return {
            "return": results[row.run]["return"],
            **{f"r2_{j}": r2[f"r2_{j}"] for j in HORIZONS},
        }

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw a point for each agent, and the correlation with its interval."""
        points: dict[str, Points] = {}
        for row, columns in values.items():
            r2 = np.array([columns[f"r2_{j}"] for j in HORIZONS], np.float64)
            models = points.setdefault(short_name(row.data), {})
            models.setdefault(row.model, []).append((r2, columns["return"]))
        table = Table(
            "Correlation over all agents, with a bootstrap interval of 90 %",
            ["dataset", *(f"R²({j})" for j in HORIZONS)],
            [[data, *_correlations(models)] for data, models in points.items()],
        )
        charts = [_chart(data, models) for data, models in points.items()]
        seeds = len(plan.budget(BUDGETS).seeds)
        return Drawing(charts, tables={"correlation": table}, notes=[f"{seeds} seeds."])


def _chart(data: str, models: Points) -> Chart:
    panels = []
    for place, horizon in enumerate(HORIZONS):
        lines = [
            Line(
                name,
                [r2[place] for r2, _ in agents],
                [value for _, value in agents],
                colour=COLOURS[number % len(COLOURS)],
                style="points",
            )
            for number, (name, agents) in enumerate(models.items())
        ]
        panels.append(Panel(f"R²({horizon})", lines, f"R² {horizon} steps ahead", "real return"))
    return Chart(data, f"Return against R², {data}", panels, columns=3)


def _correlations(models: Points) -> list[str]:
    agents = [agent for several in models.values() for agent in several]
    returns = np.array([value for _, value in agents], np.float64)
    cells = []
    for place in range(len(HORIZONS)):
        r2 = np.array([one[place] for one, _ in agents])
        known = np.isfinite(r2)
        value, low, high = correlation(r2[known], returns[known])
        cells.append("–" if np.isnan(value) else f"{value:.2f} ({low:.2f} to {high:.2f})")
    return cells


FIGURE = ReturnAgainstR2(
    "return-r2", "real return of each model's agent against the model's R² at several horizons"
)
