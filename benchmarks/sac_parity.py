"""Learning curves of the compiled SAC and of Stable-Baselines3's, same settings, same system.

Both learn online on Gymnasium's `Pendulum-v1`. Their curves are stored in `results/sac_parity.csv`;
agents that it has are not trained again.
"""

import csv
from dataclasses import replace

import numpy as np
from scipy.stats import t

from benchmarks.harness import RESULTS, WORK, Result, is_quick, save_figure, size
from farstep import AgentConfig, train_agent
from farstep.agents.learning_curve import AgentCurve
from farstep.plotting.learning_curves import agent_chart
from farstep.runtime.processes import usable_cores
from farstep.workflows.worker_pool import run_all

SYSTEM, SEEDS = "Pendulum-v1", size(5, 2)
AGENTS = {"Farstep": "sac", "Stable-Baselines3": "sb3:SAC"}
CONFIG = AgentConfig(steps=size(8_000, 200), eval_every=size(1_000, 100), eval_episodes=size(5, 1))
LAST = size(3, 1)
STORED = RESULTS / "sac_parity.csv"
COLUMNS = ("steps", "real_return", "cpu_seconds")


def run() -> Result:
    runs = [(agent, seed) for seed in range(SEEDS) for agent in AGENTS.values()]
    rows = {} if is_quick() else _stored()
    rows |= run_all([one for one in runs if one not in rows], curve_of, workers=usable_cores())
    if not is_quick():
        _store(rows)
    curves = {
        name: [AgentCurve.from_json(rows[agent, seed]) for seed in range(SEEDS)]
        for name, agent in AGENTS.items()
    }
    title = f"SAC on {SYSTEM}: mean and range of {SEEDS} seeds"
    save_figure("sac_parity", agent_chart(curves, title, "sac_parity", axes=("steps",)))
    return Result(
        how=f"{CONFIG.steps} steps on {SYSTEM}, default settings, seeds 0 to {SEEDS - 1}; the last "
        f"policy's mean return over {CONFIG.eval_episodes} episodes, the most likely action at "
        f"each step, and the mean over the last {LAST} evaluations, since single ones vary; with "
        "Student's 95 % interval. Seconds of processor time without evaluations, one thread.",
        columns=(
            *("", "final returns", "mean of the last", f"mean of the last {LAST}"),
            "seconds, median",
        ),
        rows=[_row(name, several) for name, several in curves.items()],
    )


def curve_of(run: tuple[str, int]) -> list[dict[str, float | None]]:
    """Train one agent; return the columns of its curve that are stored."""
    agent, seed = run
    out = None if is_quick() else WORK / f"parity-{agent.replace(':', '-')}-{seed}"
    trained = train_agent(SYSTEM, replace(CONFIG, algorithm=agent), seed=seed, out=out)
    return [{name: row[name] for name in COLUMNS} for row in trained.curve.rows]


def _row(name: str, curves: list[AgentCurve]) -> tuple[str, ...]:
    returns = np.array([one.column("real_return") for one in curves])
    seconds = np.median([one.column("cpu_seconds")[-1] for one in curves])
    return (
        name,
        ", ".join(f"{value:.0f}" for value in returns[:, -1]),
        _interval(returns[:, -1]),
        _interval(returns[:, -LAST:].mean(axis=1)),
        f"{seconds:.0f}",
    )


def _interval(values: np.ndarray) -> str:
    half = t.ppf(0.975, SEEDS - 1) * values.std(ddof=1) / np.sqrt(SEEDS)
    mean = values.mean()
    return f"{mean:.0f} ({mean - half:.0f} to {mean + half:.0f})"


def _stored() -> dict[tuple[str, int], list[dict[str, float | None]]]:
    found: dict[tuple[str, int], list[dict[str, float | None]]] = {}
    if STORED.exists():
        with STORED.open(newline="") as file:
            for row in csv.DictReader(file):
                values: dict[str, float | None] = {name: float(row[name]) for name in COLUMNS}
                found.setdefault((row["agent"], int(row["seed"])), []).append(values)
    return found


def _store(curves: dict[tuple[str, int], list[dict[str, float | None]]]) -> None:
    with STORED.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("agent", "seed", *COLUMNS))
        for (agent, seed), rows in sorted(curves.items()):
            writer.writerows((agent, seed, *(row[name] for name in COLUMNS)) for row in rows)
