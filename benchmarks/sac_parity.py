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
LAST = 3
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "sac_parity"


def run() -> Result:
    runs = [(agent, seed) for seed in range(SEEDS) for agent in AGENTS.values()]
    missing = [one for one in runs if not _stored(*one).exists()]
    run_all([f"benchmarks.sac_parity:make{one}" for one in missing])
    curves = {
        name: [_curve(agent, seed) for seed in range(SEEDS)] for name, agent in AGENTS.items()
    }
    title = f"SAC on {SYSTEM}: mean and range of {SEEDS} seeds"
    chart = curve_chart(curves, title, "sac_parity", axes=("steps",))
    save_chart(chart, FIGURE, force=True)
    rows = []
    for name, several in curves.items():
        returns = np.array([one.column("real_return") for one in several])
        final = returns[:, -1]
        seconds = np.median([one.last["cpu_seconds"] or np.nan for one in several])
        rows.append(
            (
                name,
                ", ".join(f"{value:.0f}" for value in final),
                _interval(final),
                _interval(returns[:, -LAST:].mean(axis=1)),
                f"{seconds:.0f}",
            )
        )
    return Result(
        how=f"{CONFIG.steps} steps on {SYSTEM}, default settings, seeds 0 to {SEEDS - 1}; the last "
        f"policy's mean return over {CONFIG.eval_episodes} episodes, the most likely action at "
        f"each step, and the mean over the last {LAST} evaluations, since single ones vary; with "
        "Student's 95 % interval. Seconds of processor time without evaluations, one thread.",
        columns=(
            *("", "final returns", "mean of the last", f"mean of the last {LAST}"),
            "seconds, median",
        ),
        rows=rows,
    )


def make(agent: str, seed: int) -> None:
    """Train one agent and keep its curve."""
    stored = _stored(agent, seed)
    done = train(SYSTEM, CONFIG, agent=agent, seed=seed, out=WORK / f"parity-{stored.stem}")
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps(done.curve.to_json(), indent=1) + "\n")


def _curve(agent: str, seed: int) -> AgentCurve:
    """Return a stored curve. Returns in training are left out: they are of unequal windows."""
    rows = json.loads(_stored(agent, seed).read_text())
    return AgentCurve.from_json([{**row, "training_return": None} for row in rows])


def _interval(values: np.ndarray) -> str:
    half = t.ppf(0.975, SEEDS - 1) * values.std(ddof=1) / np.sqrt(SEEDS)
    mean = values.mean()
    return f"{mean:.0f} ({mean - half:.0f} to {mean + half:.0f})"


def _stored(agent: str, seed: int) -> Path:
    return RESULTS / "sac_parity" / f"{agent.replace(':', '-')}-{seed}.json"
