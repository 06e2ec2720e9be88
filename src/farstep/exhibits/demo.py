"""A small tour: models of h = 1 and h = 4 of a shipped set, their scores, and an agent in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from farstep.agents.config import agent_config
from farstep.agents.curve import AgentCurve
from farstep.exhibits.exhibit import Plan, Results, Shown
from farstep.exhibits.offline_agent import OfflineAgent
from farstep.fitting.config import fit_config
from farstep.loops.shared import BRANCHED, agent_budget, imagined_where
from farstep.report.agents import curve_chart
from farstep.report.scores import r2_chart
from farstep.report.table import Table
from farstep.runs.r2 import decoded
from farstep.runs.run import Run
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.scored_oracle import ScoredOracle
from farstep.scoring.score import Score

DATA = "cartpole-swingup/medium"
COMPOSITIONS = 12_000
AGENT = agent_config("fast", steps=200_000, eval_every=20_000)
MODELS = {
    "h = 1": fit_config("recommended", horizon=1, weights="uniform", compositions=COMPOSITIONS),
    "h = 4, decay 0.75": fit_config(
        "recommended", horizon=4, weights="decay:0.75", compositions=COMPOSITIONS
    ),
}
"""The same network and the same time, so that only the objective differs."""


@dataclass(frozen=True)
class Demo:
    """Everything once, in minutes; the same in every preset, with one seed."""

    name: str = "demo"
    about: str = (
        f"models of {DATA} with h = 1 and h = 4, how far each can be trusted, and what an agent "
        "that was trained inside it does on the real system"
    )

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return two models, two agents and the oracle."""
        del plan
        agents = self._agents()
        return [
            *(agent.fit for agent in agents.values()),
            *agents.values(),
            ScoredOracle(DATA, 100),
        ]

    def show(self, plan: Plan, results: Results) -> Shown:
        """Draw R² and the learning curves, and put returns beside them."""
        del plan
        agents = self._agents()
        steps = np.arange(1, 101)
        scores = [
            Score(line, "model", steps, decoded(results[agent.fit]["r2"])[None])
            for line, agent in agents.items()
        ]
        oracle = decoded(results[ScoredOracle(DATA, 100)]["r2"])
        scores.append(Score("oracle", "oracle", steps, oracle[None]))
        found = {line: results[agent] for line, agent in agents.items()}
        curves = {line: [AgentCurve.from_json(one["curve"])] for line, one in found.items()}
        return Shown(
            charts=[
                r2_chart(scores, "How far each model can be trusted"),
                curve_chart(curves, "Agents inside the models", "agents"),
            ],
            tables={"models": _table(scores, found)},
            notes=[
                f"One seed: a tour, not a result. {COMPOSITIONS} compositions a fit; "
                f"{agent_budget(AGENT)}, {imagined_where(BRANCHED)}; ten real episodes."
            ],
            numbers={line: {"return": one["return"]} for line, one in found.items()},
        )

    def _agents(self) -> dict[str, OfflineAgent]:
        return {
            line: OfflineAgent(ScoredFit(DATA, fit), AGENT, BRANCHED)
            for line, fit in MODELS.items()
        }


def _table(scores: Sequence[Score], found: Mapping[str, Mapping[str, Any]]) -> Table:
    ahead = (1, 10, 50, 100)
    columns = ["model", *(f"R²({j})" for j in ahead), "imagined return", "real return"]
    rows = [
        [score.name, *(f"{score.at(j)[0]:.3f}" for j in ahead), *_returns(found.get(score.name))]
        for score in scores
    ]
    return Table("Models, and the agents inside them", columns, rows)


def _returns(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return ["", ""]
    values = (found[name] for name in ("imagined_return", "return"))
    return ["–" if value is None else f"{value:.0f}" for value in values]


EXHIBIT = Demo()
