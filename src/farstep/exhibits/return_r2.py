"""Return of each model's agent against its R² (the paper's figure 5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from farstep.exhibits import offline_table
from farstep.exhibits.exhibit import Plan, Results, Shown
from farstep.json_numbers import json_numbers
from farstep.report.charts import COLOURS, Chart, Line, Panel
from farstep.report.table import Table
from farstep.runs.r2 import decoded
from farstep.runs.run import Run
from farstep.scoring.errors import mean_r_squared
from farstep.scoring.statistics import correlation

HORIZONS = (1, 5, 10, 25, 50)


@dataclass(frozen=True)
class ReturnAgainstR2:
    """The offline table's agents, one point each."""

    name: str = "return-r2"
    about: str = "real return of each model's agent against the model's R² at several horizons"

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return the agents, which the offline table uses too, and their models' scores."""
        found = [run for runs in offline_table.agents(plan).values() for run in runs]
        return [*found, *dict.fromkeys(run.fit for run in found)]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Draw a point for each agent, and give the correlation with its interval."""
        points: dict[str, dict[str, list[tuple[np.ndarray, float]]]] = {}
        for (data, line), runs in offline_table.agents(plan).items():
            points.setdefault(data, {})[line] = [
                (mean_r_squared(decoded(results[run.fit]["r2"])), results[run]["return"])
                for run in runs
            ]
        charts = [_chart(data, lines) for data, lines in points.items()]
        rows = [[data, *_correlations(lines)] for data, lines in points.items()]
        table = Table(
            "Correlation over all agents, with a bootstrap interval of 90 %",
            ["dataset", *(f"R²({j})" for j in HORIZONS)],
            rows,
        )
        numbers = {
            data: {
                line: [
                    {"return": value, "r2": json_numbers(scores[np.array(HORIZONS) - 1])}
                    for scores, value in found
                ]
                for line, found in lines.items()
            }
            for data, lines in points.items()
        }
        seeds = len(plan.of(offline_table.BUDGETS).seeds)
        return Shown(
            charts, tables={"correlation": table}, notes=[f"{seeds} seeds."], numbers=numbers
        )


def _chart(data: str, lines: dict[str, list[tuple[np.ndarray, float]]]) -> Chart:
    panels = [
        Panel(
            f"R²({j})",
            [
                Line(
                    name,
                    [scores[j - 1] for scores, _ in found],
                    [value for _, value in found],
                    colour=COLOURS[number % len(COLOURS)],
                    style="points",
                )
                for number, (name, found) in enumerate(lines.items())
            ],
            f"R² {j} steps ahead",
            "real return",
        )
        for j in HORIZONS
    ]
    return Chart(data, f"Return against R², {data}", panels, columns=3)


def _correlations(lines: dict[str, list[tuple[np.ndarray, float]]]) -> list[str]:
    found = [point for line in lines.values() for point in line]
    returns = np.array([value for _, value in found], np.float64)
    cells = []
    for j in HORIZONS:
        scores = np.array([one[j - 1] for one, _ in found])
        known = np.isfinite(scores)
        value, low, high = correlation(scores[known], returns[known])
        cells.append("–" if np.isnan(value) else f"{value:.2f} ({low:.2f} to {high:.2f})")
    return cells


EXHIBIT = ReturnAgainstR2()
