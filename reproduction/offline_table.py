"""Real returns of agents trained in models of each dataset (the paper's table)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from farstep import AgentConfig, FitConfig, ModelEnvConfig
from farstep.agents.config import agent_config
from farstep.agents.learning_curve import AgentCurve
from farstep.evaluation.metrics import half_width
from farstep.plotting.charts import COLOURS, Chart, Line, Panel, Table
from farstep.storage.fingerprint import json_numbers
from farstep.training.config import fit_config
from farstep.workflows.presets import ENV_PRESETS, describe_agent
from reproduction.figure import (
    Drawing,
    Figure,
    Plan,
    Results,
    Row,
    Values,
    describe_env,
    long_name,
    short_name,
)
from reproduction.r2_figure import PROFILES, agent_model, model_name
from reproduction.runs import ModelFit, OfflineAgent, step_cost
from reproduction.statistics import compare, gaussian_half_width, interquartile_mean, with_half

DATASETS = ("medium", "expert_noisy", "random", "expert")
PAPER_RETURNS = {
    1: {"medium": (813.4, 19.8), "expert_noisy": (580.3, 56.7), "random": (308.7, 20.4),
        "expert": (807.3, 57.1)},
    2: {"medium": (812.8, 32.2), "expert_noisy": (538.8, 75.8), "random": (214.5, 71.1),
        "expert": (830.6, 44.2)},
    4: {"medium": (832.0, 35.7), "expert_noisy": (639.09, 22.5), "random": (178.9, 29.2),
        "expert": (822.1, 56.6)},
    10: {"medium": (842.4, 36.2), "expert_noisy": (557.7, 141.2), "random": (208.3, 42.4),
         "expert": (730.2, 147.8)},
}  # fmt: skip
"""The paper's mean and 90 % Gaussian half width over three seeds, by horizon and dataset."""
RECOMMENDED, ONE_STEP = "default ensemble", "default ensemble, h = 1"
Cells: TypeAlias = Mapping[tuple[str, str], np.ndarray]
"""One value for each seed, by dataset and model."""


@dataclass(frozen=True)
class Budget:
    """How much a preset computes."""

    seeds: tuple[int, ...]
    datasets: tuple[str, ...]
    epochs: int
    """Of the paper's models."""
    model_steps: int
    """Of the default ensembles."""
    agent: AgentConfig
    """In the paper's models; without a running average, as in the paper."""
    recommended_agent: AgentConfig
    """In the default ensembles."""
    env: ModelEnvConfig
    """Of the paper's models; the default ensembles use the preset `offline`."""


BUDGETS = {
    "quick": Budget(
        *((0, 1), ("random",), 2, 500),
        agent_config("default", steps=2_000, ema_decay=None),
        agent_config("long", steps=2_000),
        ENV_PRESETS["branched"],
    ),
    "standard": Budget(
        *((0, 1, 2), DATASETS, 50, 40_000),
        agent_config("default", ema_decay=None),
        agent_config("long"),
        ENV_PRESETS["branched"],
    ),
    "paper": Budget(
        *((0, 1, 2), DATASETS, 50, 40_000),
        agent_config("paper"),
        agent_config("paper"),
        ModelEnvConfig(),
    ),
}


def models(budget: Budget) -> dict[str, FitConfig]:
    """Return the models of a preset by name.

    The default ensemble with h = 1 takes as long to fit as the one with the chosen h. With as many
    model steps it would take six times as long, since its observer runs before each of them.
    """
    ours = fit_config("ensemble", model_steps=budget.model_steps)
    one_step = replace(ours, horizon=1, weights="uniform")
    steps = round(budget.model_steps * step_cost(ours) / step_cost(one_step))
    papers = {
        model_name(horizon): replace(agent_model(horizon), epochs=budget.epochs)
        for horizon in PROFILES
    }
    return {**papers, RECOMMENDED: ours, ONE_STEP: replace(one_step, model_steps=steps)}


def agent_rows(plan: Plan) -> list[Row]:
    """Return a row for each agent, with its model as a second run."""
    budget, found = plan.budget(BUDGETS), []
    for data in map(long_name, budget.datasets):
        for name, model in models(budget).items():
            ours = model.ensemble_size > 1
            agent = budget.recommended_agent if ours else budget.agent
            env = ENV_PRESETS["offline"] if ours else budget.env
            for seed in budget.seeds:
                fit = ModelFit(data, replace(model, seed=seed))
                found.append(Row(data, name, seed, OfflineAgent(fit, agent, env), (fit,)))
    return found


@dataclass(frozen=True)
class OfflineTable(Figure):
    """The paper's table beside ours."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each agent."""
        return [replace(row, also=()) for row in agent_rows(plan)]

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return the agent's returns, and those of all its evaluations."""
        result = results[row.run]
        curve = AgentCurve.from_json(result["curve"])
        return {
            **{name: result[name] for name in ("return", "imagined_return", "best_return")},
            **{
                f"{name}s": _rounded(curve.column(name))
                for name in ("imagined_return", "real_return")
            },
        }

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the table, a chart of it, imagined beside real returns, and the gain of h > 1."""
        budget = plan.budget(BUDGETS)
        returns, imagined = (_cells(values, name) for name in ("return", "imagined_return"))
        return Drawing(
            charts=[_chart(returns, budget.datasets)],
            tables={
                "returns": _return_table(returns, budget.datasets),
                "imagined": _imagined_table(imagined, returns, budget.datasets),
                "comparison": _comparison_table(returns, budget.datasets),
            },
            notes=[_note(budget)],
        )


def _rounded(values: np.ndarray) -> list[float | None]:
    return json_numbers(np.round(values, 1))


def _cells(values: Values, column: str) -> dict[tuple[str, str], np.ndarray]:
    """Return a column by dataset and model, with NaN for missing numbers."""
    found: dict[tuple[str, str], list[Any]] = {}
    for row, columns in values.items():
        found.setdefault((short_name(row.data), row.model), []).append(columns[column])
    return {cell: np.array(numbers, np.float64) for cell, numbers in found.items()}


def _names(cells: Cells) -> list[str]:
    return list(dict.fromkeys(model for _, model in cells))


def _return_table(returns: Cells, datasets: Sequence[str]) -> Table:
    """Return our means with Student's interval, and the paper's with its Gaussian one."""
    papers = {model_name(horizon): cells for horizon, cells in PAPER_RETURNS.items()}
    columns = ["model", *(f"{data}{kind}" for data in datasets for kind in ("", ", paper"))]
    rows = []
    for name in _names(returns):
        row = [name]
        for data in datasets:
            values = returns[data, name]
            ours = with_half(values.mean(), float(half_width(values)))
            row.append(f"{ours} ({gaussian_half_width(values):.0f})" if len(values) > 1 else ours)
            paper = papers.get(name, {}).get(data)
            row.append("" if paper is None else with_half(*paper))
        rows.append(row)
    return Table("Real return ± Student's 90 % interval (Gaussian, as the paper's)", columns, rows)


def _imagined_table(imagined: Cells, returns: Cells, datasets: Sequence[str]) -> Table:
    """Return mean imagined returns, and the largest difference from an agent's real return."""

    def cell(data: str, name: str) -> str:
        values = imagined[data, name]
        if np.isnan(values).any():  # a model or agent diverged
            return "–"
        return f"{values.mean():.0f} ({np.abs(values - returns[data, name]).max():.0f})"

    rows = [[name, *(cell(data, name) for data in datasets)] for name in _names(returns)]
    title = "Imagined return (largest difference between an agent's imagined and real return)"
    return Table(title, ["model", *datasets], rows)


def _comparison_table(returns: Cells, datasets: Sequence[str]) -> Table:
    """Return the interquartile mean over all datasets, and each model against h = 1."""
    one_step = model_name(1)
    stacked = {
        name: np.stack([returns[data, name] for data in datasets], axis=1)
        for name in _names(returns)
    }
    rows = []
    for name, values in stacked.items():
        baseline = ONE_STEP if name == RECOMMENDED else one_step
        several = len(values) > 1  # a single seed has no bootstrap interval
        middle, found = interquartile_mean(values), compare(values, stacked[baseline])
        low, high = found.difference.low, found.difference.high
        gain = f"{found.difference.value:+.0f}"
        gain += f" ({low:+.0f} to {high:+.0f})" if several else ""
        mean = f"{middle.value:.0f}"
        mean += f" ({middle.low:.0f} to {middle.high:.0f})" if several else ""
        rows.append(
            [name, mean, "" if name in (one_step, ONE_STEP) else f"{gain}, {found.wins:.0%}"]
        )
    columns = ["model", "interquartile mean", "above the same with h = 1, and share of pairs"]
    title = "Over all datasets, with bootstrap intervals of 90 %, which are narrow for few seeds"
    return Table(title, columns, rows)


def _chart(returns: Cells, datasets: Sequence[str]) -> Chart:
    horizons, panels = list(PAPER_RETURNS), []
    for data in datasets:
        ours = [returns[data, model_name(horizon)] for horizon in horizons]
        mean, half = np.array([v.mean() for v in ours]), np.array([half_width(v) for v in ours])
        lines = [Line("here", horizons, mean, mean - half, mean + half, COLOURS[0])]
        mean, half = np.array([PAPER_RETURNS[horizon][data] for horizon in horizons]).T
        lines.append(Line("paper", horizons, mean, mean - half, mean + half, COLOURS[1], "dashed"))
        for name, colour in ((RECOMMENDED, COLOURS[2]), (ONE_STEP, COLOURS[3])):
            level = np.full(len(horizons), returns[data, name].mean())
            lines.append(Line(name, horizons, level, colour=colour, style="dotted"))
        panels.append(Panel(data, lines, "h of the model", "real return"))
    note = "Bands: 90 % intervals, Student's here, Gaussian in the paper."
    return Chart("returns", "Agents trained in models", panels, columns=2, note=note)


def _note(budget: Budget) -> str:
    average = ", with a running average of the actor" if budget.recommended_agent.ema_decay else ""
    return (
        f"{len(budget.seeds)} seeds; {describe_agent(budget.agent)}, {describe_env(budget.env)}; "
        "ten real episodes each. Default ensemble: three members; "
        f"{describe_agent(budget.recommended_agent)}{average}, "
        f"{describe_env(ENV_PRESETS['offline'])}. With h = 1 it is fitted at the same cost."
    )


FIGURE = OfflineTable(
    "offline-table", "real returns of agents that were trained in models of each dataset"
)
