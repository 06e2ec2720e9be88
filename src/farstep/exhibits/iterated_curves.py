"""Return per epoch of iterated batch RL, h = 1, 2, 4, 10, clean and noisy (as in the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from farstep.agents.config import AgentConfig, agent_config
from farstep.choices import Warm
from farstep.errors import DivergedError
from farstep.exhibits.exhibit import Plan, Results, Shown
from farstep.exhibits.offline_agent import agent_seconds
from farstep.exhibits.scored import PROFILES, agents_model, line_name
from farstep.imagination.config import ImagineConfig
from farstep.loops.iterate import IteratedSeed
from farstep.loops.shared import BRANCHED, agent_budget, imagined_where
from farstep.report.charts import COLOURS, Chart, Line, Panel
from farstep.report.table import Table, with_half
from farstep.runs.run import Run, Runs

SYSTEMS = ("cartpole-swingup", "cartpole-swingup-noisy")
_LAST = 5
"""Epochs that the tables take the mean of, at the end."""


@dataclass(frozen=True)
class Budget:
    """How much a preset computes."""

    epochs: int
    seeds: tuple[int, ...]
    systems: tuple[str, ...]
    fit_epochs: int
    agent: AgentConfig
    """Without a running average: the paper's have none."""
    warm: Warm
    imagination: ImagineConfig = BRANCHED


BUDGETS = {
    "quick": Budget(
        epochs=2,
        seeds=(0, 1),
        systems=SYSTEMS[:1],
        fit_epochs=2,
        agent=agent_config("fast", steps=3_000, average=None),
        warm="agent",
    ),
    "standard": Budget(
        epochs=10,
        seeds=(0, 1, 2),
        systems=SYSTEMS,
        fit_epochs=20,
        agent=agent_config("fast", steps=75_000, average=None),
        warm="agent",
    ),
    "paper": Budget(
        epochs=50,
        seeds=(0, 1, 2),
        systems=SYSTEMS,
        fit_epochs=50,
        agent=agent_config("paper"),
        warm="none",
        imagination=ImagineConfig(),
    ),
}


@dataclass(frozen=True)
class IteratedLoop(Run):
    """A run: one loop."""

    loop: IteratedSeed

    kind: ClassVar[str] = "iterated"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the loop's result depends on."""
        return {**self.loop.told, "epochs": self.loop.epochs}

    @property
    def usual_seconds(self) -> float:
        """A model of a few episodes and an agent in each epoch."""
        fit = 8 + (self.loop.fit.epochs or 0) * 0.15 * (1 + self.loop.fit.horizon)
        return self.loop.epochs * (fit + agent_seconds(self.loop.agent))

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Return a row for each epoch; from one that diverges on, they earn nothing."""
        del store
        try:
            rows = self.loop.run(place)
        except DivergedError as error:
            rows = self.loop.finished(place)
            nothing = {"return": 0.0, "notes": [str(error)]}
            rows += [nothing] * (self.loop.epochs - len(rows))
        return {"rows": rows}


@dataclass(frozen=True)
class IteratedExhibit:
    """Curves of iterated batch RL."""

    name: str = "iterated-curves"
    about: str = "real return per epoch of iterated batch RL with models of h = 1, 2, 4, 10"

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return every loop."""
        return [run for runs in self._lines(plan).values() for run in runs]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Draw the mean over seeds and one standard deviation, as the paper does."""
        budget = plan.of(BUDGETS)
        returns = {
            line: np.array(
                [[row["return"] for row in results[run]["rows"]] for run in runs], np.float64
            )
            for line, runs in self._lines(plan).items()
        }
        panels, tables, numbers = [], {}, {}
        for system in budget.systems:
            of = {h: returns[system, h] for h in PROFILES}
            panels.append(_panel(system, of))
            tables[system] = _table(of)
            numbers[system] = {line_name(h): values.tolist() for h, values in of.items()}
        title = "Iterated batch RL"
        chart = Chart("returns", title, panels, columns=len(panels), note="Bands: one deviation.")
        return Shown([chart], tables=tables, notes=[_said(budget)], numbers=numbers)

    def _lines(self, plan: Plan) -> dict[tuple[str, int], list[IteratedLoop]]:
        budget = plan.of(BUDGETS)
        return {
            (system, horizon): [_loop(budget, system, horizon, seed) for seed in budget.seeds]
            for system in budget.systems
            for horizon in PROFILES
        }


def _loop(budget: Budget, system: str, horizon: int, seed: int) -> IteratedLoop:
    return IteratedLoop(
        IteratedSeed(
            system=system,
            fit=replace(agents_model(horizon), epochs=budget.fit_epochs),
            agent=replace(budget.agent, eval_episodes=0),
            imagination=budget.imagination,
            epochs=budget.epochs,
            seed=seed,
            warm=budget.warm,
        )
    )


def _panel(system: str, of: Mapping[int, np.ndarray]) -> Panel:
    lines = []
    for (horizon, values), colour in zip(of.items(), COLOURS, strict=False):
        epochs = np.arange(1, values.shape[1] + 1)
        lines.append(Line.of_many(line_name(horizon), epochs, values, colour))
    return Panel(system, lines, "epoch", "real return")


def _table(of: Mapping[int, np.ndarray]) -> Table:
    epochs = next(iter(of.values())).shape[1]
    last = min(_LAST, epochs)
    columns = ["model", f"mean of the last {last} epochs", "best epoch"]
    rows = []
    for horizon, values in of.items():
        ends = np.nanmean(values[:, -last:], axis=1)
        bests = np.nanmax(values, axis=1)
        cells = (with_half(v.mean(), v.std() if len(v) > 1 else np.nan) for v in (ends, bests))
        rows.append([line_name(horizon), *cells])
    return Table("Returns: mean over seeds ± one deviation", columns, rows)


def _said(budget: Budget) -> str:
    return (
        f"{budget.epochs} epochs after a random episode, {len(budget.seeds)} seeds; at most "
        f"{budget.fit_epochs} epochs a fit; {agent_budget(budget.agent)}, "
        f"{imagined_where(budget.imagination)}; going on from the epoch before: {budget.warm}."
    )


EXHIBIT = IteratedExhibit()
