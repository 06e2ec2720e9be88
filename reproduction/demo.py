"""A tour in minutes: two models of a shipped dataset, their R², and an agent in each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from farstep.agents.config import agent_config
from farstep.agents.learning_curve import AgentCurve
from farstep.plotting.charts import Table
from farstep.plotting.evaluation_charts import r2_chart
from farstep.plotting.learning_curves import agent_chart
from farstep.training.config import fit_config
from farstep.workflows.presets import ENV_PRESETS, describe_agent
from reproduction.figure import Drawing, Figure, Plan, Results, Row, Values, describe_env
from reproduction.r2_figure import ORACLE, r2_columns, r2_metrics
from reproduction.runs import ModelFit, OfflineAgent, OracleRollout

DATA = "cartpole-swingup/medium"
MODEL_STEPS = 12_000
AGENT = agent_config("default", steps=200_000, eval_every=20_000)
ENV = ENV_PRESETS["branched"]
MODELS = {
    "h = 1": fit_config("default", horizon=1, weights="uniform", model_steps=MODEL_STEPS),
    "h = 4, decay 0.75": fit_config(
        "default", horizon=4, weights="decay:0.75", model_steps=MODEL_STEPS
    ),
}
"""Networks of the same size that are fitted for the same time: only the objective differs."""
_HORIZONS = (1, 10, 50, 100)


@dataclass(frozen=True)
class Demo(Figure):
    """Everything once, with one seed; the same in every preset."""

    def rows(self, plan: Plan) -> list[Row]:
        """Return a row for each agent and its model, and one for the oracle."""
        del plan
        found = []
        for name, config in MODELS.items():
            fit = ModelFit(DATA, config)
            found.append(Row(DATA, name, config.seed, OfflineAgent(fit, AGENT, ENV), (fit,)))
        return [*found, Row(DATA, ORACLE, None, OracleRollout(DATA))]

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return R², returns and the learning curve."""
        if row.model == ORACLE:
            return r2_columns(row.run, results[row.run])
        agent = {name: results[row.run][name] for name in ("return", "imagined_return", "curve")}
        return {**agent, **r2_columns(row.also[0], results[row.also[0]])}

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw R² and the learning curves, and list returns beside R²."""
        del plan
        metrics = r2_metrics(values)[DATA]
        agents = {row.model: columns for row, columns in values.items() if row.model != ORACLE}
        curves = {name: [AgentCurve.from_json(one["curve"])] for name, one in agents.items()}
        rows = [
            [
                model.name,
                *(f"{model.at(j)[0]:.3f}" for j in _HORIZONS),
                *_returns(agents.get(model.name)),
            ]
            for model in metrics
        ]
        columns = ["model", *(f"R²({j})" for j in _HORIZONS), "imagined return", "real return"]
        return Drawing(
            charts=[
                r2_chart(metrics, "How many steps ahead each model predicts"),
                agent_chart(curves, "Agents in the models", "agents"),
            ],
            tables={"models": Table("Models, and the agents in them", columns, rows)},
            notes=[
                f"One seed: a tour, not a result. {MODEL_STEPS} model steps a fit; "
                f"{describe_agent(AGENT)}, {describe_env(ENV)}; ten real episodes."
            ],
        )


def _returns(agent: Mapping[str, Any] | None) -> list[str]:
    if agent is None:
        return ["", ""]
    values = (agent[name] for name in ("imagined_return", "return"))
    return ["–" if value is None else f"{value:.0f}" for value in values]


FIGURE = Demo(
    "demo",
    f"models of {DATA} with h = 1 and h = 4, how many steps ahead they predict, and the returns of "
    "agents that were trained in them",
)
