"""The presets `paper` and `fast` in one model: real return against time and updates.

The model is of the development data (`development_data.py`). Each run keeps its checkpoints in
`benchmarks/work` and its curve in `results/sac_presets`, which is committed: what is there is
not computed again.
"""

import json
import statistics
from pathlib import Path

import numpy as np

from benchmarks.development_data import WORK, good_model, sac_trace
from benchmarks.harness import RESULTS, Result
from benchmarks.pinned import run_all
from farstep.agents.config import agent_config
from farstep.agents.curve import AgentCurve
from farstep.agents.train import train
from farstep.imagination.imagine import imagine
from farstep.report.agents import curve_chart
from farstep.report.static import save_chart

SEEDS = {"paper": (0,), "fast": (0,)}
CLOSE = 0.99
"""Of the paper preset's final return: what counts as having reached it."""
LAST = 5
"""Evaluations, the last ones, whose mean is a run's final return: single ones vary."""
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "presets"


def run() -> Result:
    runs = [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
    missing = [one for one in runs if not _stored(*one).exists()]
    if missing:
        good_model(sac_trace().split())
    run_all([f"benchmarks.sac_presets:make{one}" for one in missing])
    curves = {
        name: [AgentCurve.from_json(json.loads(_stored(name, seed).read_text())) for seed in seeds]
        for name, seeds in SEEDS.items()
    }
    chart = curve_chart(
        curves,
        "Two presets, one model of cartpole swing-up",
        "presets",
        axes=("cpu_seconds", "updates"),
    )
    save_chart(chart, FIGURE, force=True)
    aim = CLOSE * statistics.mean(_final(one) for one in curves["paper"])
    rows = [
        (
            name,
            str(seed),
            f"{one.last['steps']:.0f}",
            f"{one.last['updates']:.0f}",
            f"{one.last['cpu_seconds']:.0f}",
            f"{_final(one):.0f}",
            f"{one.column('imagined_return')[-LAST:].mean():.0f}",
            _reached(one, aim),
        )
        for name, seeds in SEEDS.items()
        for seed, one in zip(seeds, curves[name], strict=True)
    ]
    return Result(
        how="One core each; seconds are of processor time, since other runs shared the machine. "
        "The model: three SiLU layers, h = 5, uniform weights, of 36 episodes of SAC learning on "
        "the real cartpole. Real and imagined return: mean of the last "
        f"{LAST} evaluations, each of one real episode (8 imagined ones). Reached: when the mean "
        f"of {LAST} evaluations in a row first was within 1 % of the paper preset's final one.",
        columns=(
            *("preset", "seed", "steps", "updates", "seconds", "real return"),
            *("imagined return", "reached after, s"),
        ),
        rows=rows,
    )


def make(name: str, seed: int) -> None:
    """Train one agent and keep its curve."""
    parts = sac_trace().split()
    imagined = imagine(good_model(parts), data=parts.train)
    config = agent_config(name, eval_every=20_000)
    agent = train(imagined, config, seed=seed, out=WORK / f"{name}-{seed}")
    stored = _stored(name, seed)
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps(agent.curve.to_json(), indent=1) + "\n")


def _stored(name: str, seed: int) -> Path:
    return RESULTS / "sac_presets" / f"{name}-{seed}.json"


def _final(one: AgentCurve) -> float:
    return float(one.column("real_return")[-LAST:].mean())


def _reached(one: AgentCurve, aim: float) -> str:
    """Return when the mean of LAST evaluations in a row was first at the aim."""
    real, seconds = one.column("real_return"), one.column("cpu_seconds")
    means = np.convolve(real, np.ones(LAST) / LAST, "valid")
    there = np.flatnonzero(means >= aim)
    return f"{seconds[LAST - 1 :][there[0]]:.0f}" if len(there) else "not reached"
