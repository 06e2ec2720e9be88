"""The paper's agent of 500 000 updates beside `standard`'s, inside the same models of the paper.

Over an hour of one core for each of the paper's agents. Killed, it goes on where it was.
"""

from benchmarks.development_data import WORK
from benchmarks.harness import Result
from farstep.exhibits.exhibit import Plan
from farstep.exhibits.offline_table import PAPERS, agents
from farstep.exhibits.reproduce import committed
from farstep.exhibits.scored import line_name
from farstep.runs.store import Store
from farstep.runs.sweep import sweep

CELLS = (("expert", 4),)
SEED = 0


def run() -> Result:
    runs = {
        (data, horizon, preset): agents(Plan(preset))[data, line_name(horizon)][SEED]
        for data, horizon in CELLS
        for preset in ("standard", "paper")
    }
    results = sweep(list(runs.values()), Store(WORK / "paper_agents", committed()))
    rows = []
    for (data, horizon, preset), one in runs.items():
        found, agent = results[one], one.agent
        promised = found["imagined_return"]
        updates = agent.steps // agent.num_envs * agent.gradient_steps
        mean, half = PAPERS[horizon][data]
        rows.append(
            (
                *(data, line_name(horizon), f"`{preset}`, {updates} updates"),
                "diverged" if promised is None else f"{promised:.0f}",
                f"{found['return']:.0f}",
                f"{mean:.0f} ± {half:.0f}",
            )
        )
    return Result(
        how=f"Single agents in one model each (seed {SEED}) of the rows of `offline-table`; real "
        "returns are means of ten episodes.",
        columns=("data", "model", "agent", "promised", "real return", "the paper's"),
        rows=rows,
    )
