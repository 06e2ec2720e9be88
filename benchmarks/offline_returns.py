"""Pure-batch RL on the shipped datasets: real and imagined returns for h = 1 and h = 4.

The paper's models that predict differences, and agents in whole episodes from the data's first
states. Results are kept in `results/offline_returns`, which is committed: what is there is not
computed again.
"""

import json

from benchmarks.development_data import WORK
from benchmarks.harness import RESULTS, Result
from farstep.agents.config import AgentConfig
from farstep.imagination.config import ImagineConfig
from farstep.loops.offline import Offline, offline

SEEDS, STEPS = 3, 100_000
CASES = {"h = 1": (1, "uniform"), "h = 4, decay 0.75": (4, "decay:0.75")}
DATASETS = ("cartpole-swingup/random",)


def run() -> Result:
    rows = []
    for data in DATASETS:
        for name, (horizon, weights) in CASES.items():
            done = _offline(data, horizon, weights)
            shown = {n: f"{m:.4g} ± {h:.2g}" for n, (m, h) in done.summary().items()}
            wanted = (
                "return",
                "imagined return",
                "R²(10)",
                "R²(50)",
                "R²(100)",
                "fit, s",
                "agent, s",
            )
            rows.append((data, name, *(shown[column] for column in wanted)))
    return Result(
        how=f"{STEPS} steps of ten imagined systems, two updates for ten steps; the paper's "
        f"network with differences as targets, at most 50 epochs; {SEEDS} seeds, ± half of "
        "Student's 90 % interval; the last policy's mean over ten real episodes; seconds of the "
        "clock, while other runs shared the machine: on a quiet one about half.",
        columns=(
            *("data", "model", "real return", "imagined return", "R²(10)", "R²(50)", "R²(100)"),
            *("fit, s", "agent, s"),
        ),
        rows=rows,
    )


def _offline(data: str, horizon: int, weights: str) -> Offline:
    name = f"{data.split('/')[-1]}-h{horizon}"
    stored = RESULTS / "offline_returns" / f"{name}.json"
    if not stored.exists():
        done = offline(
            data,
            "paper",
            out=WORK / f"offline-{name}",
            seeds=SEEDS,
            agent=AgentConfig(steps=STEPS, num_envs=10, gradient_steps=2),
            imagination=ImagineConfig(),
            weights=weights,
            horizon=horizon,
            target="delta",
            epochs=50,
        )
        stored.parent.mkdir(parents=True, exist_ok=True)
        content = {"about": done.about, "results": done.results}
        stored.write_text(json.dumps(content, indent=1) + "\n")
    content = json.loads(stored.read_text())
    return Offline(tuple(content["results"]), content["about"])
