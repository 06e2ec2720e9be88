"""Returns of agents trained inside models of each dataset (the paper's table)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from farstep.agents.config import AgentConfig, agent_config
from farstep.exhibits.exhibit import Plan, Results, Shown, whole
from farstep.exhibits.offline_agent import OfflineAgent
from farstep.exhibits.scored import PROFILES, agents_model, line_name
from farstep.fitting.config import FitConfig, fit_config
from farstep.imagination.config import ImagineConfig
from farstep.loops.shared import (
    BRANCHED,
    CAREFUL,
    agent_budget,
    imagined_where,
)
from farstep.report.charts import COLOURS, Chart, Line, Panel
from farstep.report.table import Table, with_half
from farstep.runs.run import Run
from farstep.runs.scored_fit import ScoredFit
from farstep.scoring.intervals import half_width
from farstep.scoring.statistics import compare, gaussian_half_width, interquartile_mean

DATASETS = ("medium", "expert_noisy", "random", "expert")
PAPERS = {
    1: {"medium": (813.4, 19.8), "expert_noisy": (580.3, 56.7), "random": (308.7, 20.4),
        "expert": (807.3, 57.1)},
    2: {"medium": (812.8, 32.2), "expert_noisy": (538.8, 75.8), "random": (214.5, 71.1),
        "expert": (830.6, 44.2)},
    4: {"medium": (832.0, 35.7), "expert_noisy": (639.09, 22.5), "random": (178.9, 29.2),
        "expert": (822.1, 56.6)},
    10: {"medium": (842.4, 36.2), "expert_noisy": (557.7, 141.2), "random": (208.3, 42.4),
         "expert": (730.2, 147.8)},
}  # fmt: skip
"""By horizon and dataset, the paper's mean and its 90 % Gaussian half width over three seeds."""
RECOMMENDED, ONE_STEP = "recommended", "recommended, h = 1"


@dataclass(frozen=True)
class Budget:
    """How much a preset computes."""

    seeds: tuple[int, ...]
    datasets: tuple[str, ...]
    epochs: int
    """Of the paper's models."""
    compositions: int
    """Of the recommended ones."""
    agent: AgentConfig
    """In the paper's models, whose agents have no running average."""
    ours: AgentConfig
    """In the recommended ones."""
    imagination: ImagineConfig = BRANCHED
    """Of agents in the paper's models; those in ours live as `offline` lets them."""


BUDGETS = {
    "quick": Budget(
        *((0, 1), ("random",), 2, 500),
        agent_config("fast", steps=2_000, average=None),
        agent_config("thorough", steps=2_000),
    ),
    "standard": Budget(
        *((0, 1, 2), DATASETS, 50, FitConfig().compositions),
        agent_config("fast", average=None),
        agent_config("thorough"),
    ),
    "paper": Budget(
        *((0, 1, 2), DATASETS, 50, FitConfig().compositions),
        agent_config("paper"),
        agent_config("paper"),
        ImagineConfig(),
    ),
}


def models(budget: Budget) -> dict[str, FitConfig]:
    """Return what is fitted, by the name of its row.

    Our recipe with h = 1 costs what it costs with the default's h. With as many compositions it
    would cost six times that, since its observer settles in before each of them.
    """
    ours = fit_config("ensemble", compositions=budget.compositions)
    one = replace(ours, horizon=1, weights="uniform")
    one = replace(
        one,
        compositions=round(ours.compositions * ours.composition_cost / one.composition_cost),
    )
    paper = {
        line_name(horizon): replace(agents_model(horizon), epochs=budget.epochs)
        for horizon in PROFILES
    }
    return {**paper, RECOMMENDED: ours, ONE_STEP: one}


def agents(plan: Plan) -> dict[tuple[str, str], list[OfflineAgent]]:
    """Return the runs of every cell, by dataset and row: one for each seed."""
    budget = plan.of(BUDGETS)
    return {
        (data, line): [
            OfflineAgent(
                ScoredFit(whole(data), replace(config, seed=seed)),
                budget.ours if config.members > 1 else budget.agent,
                CAREFUL if config.members > 1 else budget.imagination,
            )
            for seed in budget.seeds
        ]
        for data in budget.datasets
        for line, config in models(budget).items()
    }


@dataclass(frozen=True)
class OfflineTable:
    """The paper's table beside ours."""

    name: str = "offline-table"
    about: str = "real returns of agents that were trained inside models of each dataset"

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return every agent."""
        return [run for runs in agents(plan).values() for run in runs]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Return the table, a chart of it, and what h = 4 gains."""
        budget = plan.of(BUDGETS)
        returns, promised = (
            {
                cell: np.array([results[run][name] for run in runs], np.float64)
                for cell, runs in agents(plan).items()
            }
            for name in ("return", "imagined_return")
        )
        datasets = budget.datasets
        numbers = {
            data: {
                line: values.tolist() for (where, line), values in returns.items() if where == data
            }
            for data in datasets
        }
        return Shown(
            charts=[_chart(returns, datasets)],
            tables={
                "returns": _table(returns, datasets),
                "promised": _promised(promised, returns, datasets),
                "comparison": _comparison(returns, datasets),
            },
            notes=[_said(budget)],
            numbers=numbers,
        )


def _table(returns: Mapping[tuple[str, str], np.ndarray], datasets: Sequence[str]) -> Table:
    """Return a row for each model: ours with Student's and the paper's with its own interval."""
    papers = {line_name(horizon): cells for horizon, cells in PAPERS.items()}
    columns = ["model", *(f"{data}{kind}" for data in datasets for kind in ("", ", paper"))]
    rows = []
    for line in dict.fromkeys(line for _, line in returns):
        row = [line]
        for data in datasets:
            values = returns[data, line]
            theirs = papers.get(line, {}).get(data)
            ours = with_half(values.mean(), float(half_width(values)))
            row.append(f"{ours} ({gaussian_half_width(values):.0f})" if len(values) > 1 else ours)
            row.append("" if theirs is None else with_half(*theirs))
        rows.append(row)
    return Table("Real return ± Student's 90 % interval (Gaussian, as the paper's)", columns, rows)


def _promised(
    promised: Mapping[tuple[str, str], np.ndarray],
    returns: Mapping[tuple[str, str], np.ndarray],
    datasets: Sequence[str],
) -> Table:
    """Return what the models promised their agents, and how far from it each ended at most."""

    def shown(data: str, line: str) -> str:
        theirs, ours = promised[data, line], returns[data, line]
        if np.isnan(theirs).any():  # what diverged promised nothing
            return "–"
        return f"{theirs.mean():.0f} ({np.abs(theirs - ours).max():.0f})"

    rows = [
        [line, *(shown(data, line) for data in datasets)]
        for line in dict.fromkeys(line for _, line in returns)
    ]
    title = "Imagined return, and the largest distance of one agent's real return from its own"
    return Table(title, ["model", *datasets], rows)


def _comparison(returns: Mapping[tuple[str, str], np.ndarray], datasets: Sequence[str]) -> Table:
    """Return over all datasets the interquartile mean, and each row against one step ahead."""
    one_step = line_name(1)
    stacked = {
        line: np.stack([returns[data, line] for data in datasets], axis=1)
        for line in dict.fromkeys(line for _, line in returns)
    }
    rows = []
    for line, values in stacked.items():
        middle = interquartile_mean(values)
        several = len(values) > 1  # of one seed there is nothing to draw again
        other = ONE_STEP if line == RECOMMENDED else one_step
        found = compare(values, stacked[other])
        low, high = found.difference.low, found.difference.high
        against = f"{found.difference.value:+.0f}"
        against += f" ({low:+.0f} to {high:+.0f})" if several else ""
        shown = f"{middle.value:.0f}"
        shown += f" ({middle.low:.0f} to {middle.high:.0f})" if several else ""
        rows.append(
            [line, shown, "" if line in (one_step, ONE_STEP) else f"{against}, {found.wins:.0%}"]
        )
    columns = ["model", "interquartile mean", "above the same with h = 1, and share of pairs"]
    title = "Over all datasets, with bootstrap intervals of 90 %, which are narrow for few seeds"
    return Table(title, columns, rows)


def _chart(returns: Mapping[tuple[str, str], np.ndarray], datasets: Sequence[str]) -> Chart:
    horizons, panels = list(PAPERS), []
    for data in datasets:
        ours = [returns[data, line_name(horizon)] for horizon in horizons]
        mean, half = np.array([v.mean() for v in ours]), np.array([half_width(v) for v in ours])
        lines = [Line("here", horizons, mean, mean - half, mean + half, COLOURS[0])]
        mean, half = np.array([PAPERS[horizon][data] for horizon in horizons]).T
        lines.append(Line("paper", horizons, mean, mean - half, mean + half, COLOURS[1], "dashed"))
        for name, colour in ((RECOMMENDED, COLOURS[2]), (ONE_STEP, COLOURS[3])):
            level = np.full(len(horizons), returns[data, name].mean())
            lines.append(Line(name, horizons, level, colour=colour, style="dotted"))
        panels.append(Panel(data, lines, "h of the model", "real return"))
    note = "Bands: 90 % intervals, Student's here, Gaussian in the paper."
    return Chart("returns", "Agents trained inside models", panels, columns=2, note=note)


def _said(budget: Budget) -> str:
    where = imagined_where(budget.imagination)
    kept = "; a running average of the actor is kept" if budget.ours.average else ""
    return (
        f"{len(budget.seeds)} seeds; {agent_budget(budget.agent)}, {where}; ten real episodes "
        f"each. Recommended: ensembles of three; {agent_budget(budget.ours)}, "
        f"{imagined_where(CAREFUL)}{kept}. With h = 1 it is fitted at the same cost."
    )


EXHIBIT = OfflineTable()
