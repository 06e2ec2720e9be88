"""Memory of one process that trains agent after agent, and runs a loop epoch after epoch."""

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Result
from benchmarks.pinned import CORES, result, start

OFFLINE = int(os.environ.get("FARSTEP_SOAK_AGENTS", "40"))
"""Agents, each inside models of its own."""
EPOCHS = int(os.environ.get("FARSTEP_SOAK_EPOCHS", "40"))
"""Epochs of one loop."""
_FIT: dict[str, Any] = {"width": 8, "depth": 1, "batch": 64, "horizon": 2, "weights": "uniform"}
_AGENT: dict[str, Any] = {
    **{"steps": 200, "num_envs": 2, "learning_starts": 20, "batch_size": 8},
    **{"net_arch": (8,), "eval_every": 200, "eval_episodes": 0, "buffer_size": 200},
}
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "soak"


def run() -> Result:
    measured = {
        "offline": result(start("benchmarks.soak:offline_agents()", [CORES[-1]])),
        "iterate": result(start("benchmarks.soak:loop_epochs()", [CORES[-1]])),
    }
    _draw(measured)
    rows = [_row(name, np.array(values)) for name, values in measured.items()]
    return Result(
        how="Toy sizes, one process for each row. Resident memory, in MB, after each agent of "
        "`offline` (three models, an agent inside them, ten real episodes) and after each epoch "
        "of `iterate` (a model, an agent inside it, one real episode); agents are not run on the "
        "real system while they learn. The growth is the slope of a line through the second half.",
        columns=("", "count", "after the first", "after half", "at the end", "growth each, MB"),
        rows=rows,
    )


def _row(name: str, values: np.ndarray) -> tuple[str, ...]:
    half = len(values) // 2
    slope = np.polyfit(np.arange(half, len(values)), values[half:], 1)[0]
    shown = (f"{values[at]:.0f}" for at in (0, half, -1))
    return (name, str(len(values)), *shown, f"{slope:.2f}")


def _draw(measured: dict[str, list[float]]) -> None:
    from farstep.report.charts import COLOURS, Chart, Line, Panel
    from farstep.report.static import save_chart

    lines = [
        Line(name, np.arange(1, len(values) + 1), values, colour=COLOURS[number])
        for number, (name, values) in enumerate(measured.items())
    ]
    panel = Panel("", lines, "agents, epochs", "resident, MB")
    pictures = save_chart(Chart("soak", "Memory of one process", [panel]), FIGURE, force=True)
    for path in pictures:
        if path.suffix == ".pdf":  # the documentation shows the other
            path.unlink()


def offline_agents() -> list[float]:
    """Return the memory after each agent."""
    import farstep
    from farstep.episodes import Episode, Episodes

    data = farstep.load("cartpole-swingup/random")
    assert data.rewards is not None
    rewards = data.rewards.reshape(len(data), -1)
    short = [
        Episode(one.states[:61], one.actions[:60], earned[:60])
        for one, earned in zip(data, rewards, strict=True)
    ]
    few = Episodes.from_list(short[:10], data.signals, data.system)
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = farstep.write(few, Path(folder) / "log.npz")
        for seed in range(OFFLINE):
            farstep.offline(
                str(log),
                out=Path(folder) / "out",
                seeds=1,
                seed=seed,
                agent=_AGENT,
                workers=1,
                **{**_FIT, "compositions": 100},
            )
            found.append(_resident())
    return found


def loop_epochs() -> list[float]:
    """Return the memory after each epoch; more epochs go on from those that are there."""
    import farstep
    from farstep.fitting.config import fit_config

    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = fit_config("recommended", **_FIT, compositions=100)
        for epochs in range(1, EPOCHS + 1):
            farstep.iterate(
                "Pendulum-v1",
                config,
                out=folder,
                epochs=epochs,
                seeds=1,
                agent=_AGENT,
                imagination={"reward": "learned"},
                workers=1,
            )
            found.append(_resident())
    return found


def _resident() -> float:
    from farstep.runs.board import resident

    return resident(os.getpid()) or float("nan")
