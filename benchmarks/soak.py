"""Memory of one process that trains agent after agent, and runs a loop episode after episode."""

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pinned
from benchmarks.harness import Result, save_figure, size

AGENTS, EPISODES = size((40, 40), (4, 4))
"""Agents of `offline`, each in a model of its own, and real episodes of one `iterate`."""
_FIT: dict[str, Any] = {
    **{"width": 8, "depth": 1, "batch_size": 64, "horizon": 2, "weights": "uniform"},
    "model_steps": 100,
}
_AGENT: dict[str, Any] = {
    **{"steps": 200, "num_envs": 2, "learning_starts": 20, "batch_size": 8},
    **{"net_arch": (8,), "eval_every": 200, "buffer_size": 200},
}


def run() -> Result:
    measured = {
        "offline": pinned.run("benchmarks.soak:offline_agents()"),
        "iterate": pinned.run("benchmarks.soak:loop_episodes()"),
    }
    _draw(measured)
    return Result(
        how="Tiny sizes, one process for each row. Resident memory, in MB, after each agent of "
        "`offline` (three models, an agent in them, ten real episodes) and after each episode of "
        "`iterate` (a model, an agent in it, one real episode). Agents are not run on the real "
        "system while they learn. The growth is the slope of a line through the second half.",
        columns=("", "count", "after the first", "after half", "at the end", "growth each, MB"),
        rows=[_row(name, np.array(values)) for name, values in measured.items()],
    )


def _row(name: str, values: np.ndarray) -> tuple[str, ...]:
    half = len(values) // 2
    slope = np.polyfit(np.arange(half, len(values)), values[half:], 1)[0]
    shown = (f"{values[at]:.0f}" for at in (0, half, -1))
    return (name, str(len(values)), *shown, f"{slope:.2f}")


def _draw(measured: dict[str, list[float]]) -> None:
    from farstep.plotting.charts import COLOURS, Chart, Line, Panel

    lines = [
        Line(name, np.arange(1, len(values) + 1), values, colour=COLOURS[number])
        for number, (name, values) in enumerate(measured.items())
    ]
    panel = Panel("", lines, "agents, episodes", "resident, MB")
    save_figure("soak", Chart("soak", "Memory of one process", [panel]))


def offline_agents() -> list[float]:
    """Return the memory after each agent."""
    import farstep as fs

    data = fs.load_dataset("cartpole-swingup/random")
    short = [one.slice(0, 60) for one in data]
    few = fs.Episodes.from_list(short[:10], data.signals, data.system)
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(AGENTS):
            fs.offline(
                few,
                fit={"preset": "ensemble", **_FIT, "observer_steps": 0},
                agent={**_AGENT, "eval_episodes": 0},
                out=Path(folder) / "out",
                seeds=1,
                seed=seed,
                workers=1,
            )
            found.append(_resident())
    return found


def loop_episodes() -> list[float]:
    """Return the memory after each real episode; each call continues the loop by one."""
    import farstep as fs

    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for episodes in range(1, EPISODES + 1):
            fs.iterate(
                "Pendulum-v1",
                fit=_FIT,
                agent=_AGENT,
                env={"reward": "learned"},
                out=folder,
                episodes=episodes,
                seeds=1,
                workers=1,
            )
            found.append(_resident())
    return found


def _resident() -> float:
    from farstep.workflows.worker_display import resident

    return resident(os.getpid()) or float("nan")
