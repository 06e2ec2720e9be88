"""Return after each episode of iterated batch RL, h = 1, 2, 4, 10, clean and noisy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from farstep import AgentConfig, ModelEnvConfig
from farstep.agents.config import agent_config
from farstep.plotting.charts import COLOURS, Chart, Line, Panel, Table
from farstep.workflows.presets import ENV_PRESETS, describe_agent
from reproduction.figure import Drawing, Figure, Plan, Results, Row, Values, describe_env
from reproduction.r2_figure import PROFILES, agent_model, model_name
from reproduction.runs import IteratedLoop
from reproduction.statistics import with_half

SYSTEMS = ("cartpole-swingup", "cartpole-swingup-noisy")
_LAST = 5
"""The tables show the mean of this many episodes at the end."""


@dataclass(frozen=True)
class Budget:
    """How much a preset computes."""

    episodes: int
    seeds: tuple[int, ...]
    systems: tuple[str, ...]
    epochs: int
    """At most, for each fit."""
    agent: AgentConfig
    """Without a running average, as in the paper."""
    warm_start: Literal["none", "agent"]
    env: ModelEnvConfig


BUDGETS = {
    "quick": Budget(
        episodes=2,
        seeds=(0, 1),
        systems=SYSTEMS[:1],
        epochs=2,
        agent=agent_config("default", steps=3_000, ema_decay=None, eval_episodes=0),
        warm_start="agent",
        env=ENV_PRESETS["branched"],
    ),
    "standard": Budget(
        episodes=10,
        seeds=(0, 1, 2),
        systems=SYSTEMS,
        epochs=20,
        agent=agent_config("default", steps=75_000, ema_decay=None, eval_episodes=0),
        warm_start="agent",
        env=ENV_PRESETS["branched"],
    ),
    "paper": Budget(
        episodes=50,
        seeds=(0, 1, 2),
        systems=SYSTEMS,
        epochs=50,
        agent=agent_config("paper", eval_episodes=0),
        warm_start="none",
        env=ModelEnvConfig(),
    ),
}


@dataclass(frozen=True)
class IteratedCurves(Figure):
    """Learning curves of iterated batch RL."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each loop."""
        budget = plan.budget(BUDGETS)
        return [
            Row(system, model_name(horizon), seed, _loop(budget, system, horizon, seed))
            for system in budget.systems
            for horizon in PROFILES
            for seed in budget.seeds
        ]

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return the real and the imagined return of each episode's agent."""
        result = results[row.run]
        return {
            f"{name}_{number}": value
            for name in ("return", "imagined_return")
            for number, value in enumerate(result[f"{name}s"], 1)
        }

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the mean over seeds and one standard deviation, as the paper does."""
        budget = plan.budget(BUDGETS)
        returns: dict[str, dict[str, list[list[float]]]] = {}
        for row, columns in values.items():
            numbers = [columns[f"return_{n}"] for n in range(1, budget.episodes + 1)]
            returns.setdefault(row.data, {}).setdefault(row.model, []).append(numbers)
        panels, tables = [], {}
        for system, models in returns.items():
            arrays = {name: np.array(seeds, np.float64) for name, seeds in models.items()}
            panels.append(_panel(system, arrays))
            tables[system] = _table(arrays)
        title, note = "Iterated batch RL", "Bands: one standard deviation."
        chart = Chart("returns", title, panels, columns=len(panels), note=note)
        return Drawing([chart], tables=tables, notes=[_note(budget)])


def _loop(budget: Budget, system: str, horizon: int, seed: int) -> IteratedLoop:
    return IteratedLoop(
        system=system,
        fit=replace(agent_model(horizon), epochs=budget.epochs),
        agent=budget.agent,
        env=budget.env,
        episodes=budget.episodes,
        seed=seed,
        warm_start=budget.warm_start,
    )


def _panel(system: str, models: Mapping[str, np.ndarray]) -> Panel:
    lines = []
    for (name, values), colour in zip(models.items(), COLOURS, strict=False):
        episodes = np.arange(1, values.shape[1] + 1)
        lines.append(Line.of_many(name, episodes, values, colour))
    return Panel(system, lines, "episode", "real return")


def _table(models: Mapping[str, np.ndarray]) -> Table:
    last = min(_LAST, next(iter(models.values())).shape[1])
    columns = ["model", f"mean of the last {last} episodes", "best episode"]
    rows = []
    for name, values in models.items():
        ends, bests = np.nanmean(values[:, -last:], axis=1), np.nanmax(values, axis=1)
        cells = (with_half(v.mean(), v.std() if len(v) > 1 else np.nan) for v in (ends, bests))
        rows.append([name, *cells])
    return Table("Returns: mean over seeds ± one standard deviation", columns, rows)


def _note(budget: Budget) -> str:
    return (
        f"{budget.episodes} episodes after a random one, {len(budget.seeds)} seeds; at most "
        f"{budget.epochs} epochs a fit; {describe_agent(budget.agent)}, "
        f"{describe_env(budget.env)}; warm start: {budget.warm_start}."
    )


FIGURE = IteratedCurves(
    "iterated-curves",
    "real return after each episode of iterated batch RL with models of h = 1, 2, 4, 10",
)
