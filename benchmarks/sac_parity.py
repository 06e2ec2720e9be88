"""Learning curves of the compiled SAC and of Stable-Baselines3's, same settings, same system.

Both learn online on Gymnasium's `Pendulum-v1`. Curves are kept in `results/sac_parity`, which is
committed: what is there is not computed again.
"""

import json
from pathlib import Path

import numpy as np
from scipy.stats import t

from benchmarks.development_data import WORK
from benchmarks.harness import RESULTS, Result
from benchmarks.pinned import run_all
from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve
from farstep.agents.train import train
from farstep.report.agents import curve_chart
from farstep.report.static import save_chart

SYSTEM, SEEDS = "Pendulum-v1", 5
AGENTS = {"Farstep": "sac", "Stable-Baselines3": "sb3:SAC"}
CONFIG = AgentConfig(steps=8_000, eval_every=1_000, eval_episodes=5)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "sac_parity"


def run() -> Result:
    runs = [(agent, seed) for seed in range(SEEDS) for agent in AGENTS.values()]
    missing = [one for one in runs if not _stored(*one).exists()]
    run_all([f"benchmarks.sac_parity:make{one}" for one in missing])
    curves = {
        name: [
            AgentCurve.from_json(json.loads(_stored(agent, seed).read_text()))
            for seed in range(SEEDS)
        ]
        for name, agent in AGENTS.items()
    }
    chart = curve_chart(curves, f"SAC on {SYSTEM}: mean and range of {SEEDS} seeds", "sac_parity")
    save_chart(chart, FIGURE, force=True)
    rows = []
    for name, several in curves.items():
        final = np.array([one.column("real_return")[-1] for one in several])
        half = t.ppf(0.975, SEEDS - 1) * final.std(ddof=1) / np.sqrt(SEEDS)
        seconds = np.median([one.last["cpu_seconds"] or np.nan for one in several])
        rows.append(
            (
                name,
                ", ".join(f"{value:.0f}" for value in final),
                f"{final.mean():.0f}",
                f"{final.mean() - half:.0f} to {final.mean() + half:.0f}",
                f"{seconds:.0f}",
            )
        )
    return Result(
        how=f"{CONFIG.steps} steps on {SYSTEM}, default settings, seeds 0 to {SEEDS - 1}; the last "
        f"policy's mean return over {CONFIG.eval_episodes} episodes, the most likely action at "
        "each step. Intervals are Student's. Seconds of processor time without evaluations, one "
        "thread, two runs at once on two cores.",
        columns=("", "final returns", "mean", "95 % interval", "seconds, median"),
        rows=rows,
    )


def make(agent: str, seed: int) -> None:
    """Train one agent and keep its curve."""
    stored = _stored(agent, seed)
    done = train(SYSTEM, CONFIG, agent=agent, seed=seed, out=WORK / f"parity-{stored.stem}")
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps(done.curve.to_json(), indent=1) + "\n")


def _stored(agent: str, seed: int) -> Path:
    return RESULTS / "sac_parity" / f"{agent.replace(':', '-')}-{seed}.json"
