"""A larger system end to end, HalfCheetah-v5: what each stage costs beside cartpole's."""

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from benchmarks.harness import Result
from farstep import collect, fit, imagine, score, train
from farstep.runs.pool import run_all

SYSTEMS = ("cartpole-swingup", "half-cheetah")
EPISODES, COMPOSITIONS, HORIZON, STEPS, TRIALS = 10, 8_000, 50, 20_000, 5
AHEAD = (1, 10, 50)
T = TypeVar("T")


def run() -> Result:
    load = os.getloadavg()[0]
    found = run_all(list(SYSTEMS), measured, workers=1)
    small, large = (found[name] for name in SYSTEMS)
    rows = []
    for what, value in large.items():
        cells = [_shown(one[what]) for one in (small, large)]
        costs = what.endswith(", s")
        rows.append((what, *cells, f"{value / small[what]:.1f}×" if costs else ""))
    quiet = "quiet" if load < 0.5 else "not quiet"
    return Result(
        how="One seed. Random actions, the recommended fit, the preset `fast` (ten imagined "
        "systems, two updates for ten steps); far too little to solve either task. Seconds of "
        "the processor, one compute thread, compilation included. The machine was "
        f"{quiet}: its load was {load:.1f} before this began.",
        columns=("", *SYSTEMS, "ratio"),
        rows=rows,
    )


def measured(system: str) -> dict[str, Any]:
    """Go through all stages once; return costs and what came out."""
    collect(system, "random", episodes=1, seed=9)  # imports the simulator, which is not counted
    seconds, data = _timed(lambda: collect(system, "random", episodes=EPISODES, seed=0))
    signals = data.signals
    found: dict[str, Any] = {
        "states + actions": f"{len(signals.state_names)} + {len(signals.action_names)}",
        f"collect {EPISODES} episodes of {data.lengths[0]} steps, s": seconds,
    }
    parts = data.split(seed=0)
    seconds, model = _timed(lambda: fit(parts[0], parts[1], compositions=COMPOSITIONS, seed=0))
    found[f"fit, {COMPOSITIONS} compositions, s"] = seconds
    seconds, scored = _timed(lambda: score({"model": model}, parts[2], HORIZON, references=False))
    found[f"score {len(parts[2])} episodes 1 to {HORIZON} steps ahead, s"] = seconds
    imagined = imagine(model, system, parts[0])
    options: dict[str, Any] = {"steps": STEPS, "eval_every": STEPS, "eval_episodes": 0}
    seconds, agent = _timed(lambda: train(imagined, "fast", seed=0, **options))
    found[f"agent, {STEPS} imagined steps, s"] = seconds
    seconds, real = _timed(lambda: collect(system, agent.policy, episodes=TRIALS, seed=1))
    found[f"run it for {TRIALS} real episodes, s"] = seconds
    found["h that auto chose"] = model.horizon
    found |= {f"R²({j})": scored["model"].at(j)[0] for j in AHEAD}
    found["mean return of the data"] = np.mean([one.total for one in data])
    found["imagined return of the agent"] = agent.curve.last["imagined_return"]
    found["its real return"] = np.mean([one.total for one in real])
    return found


def _timed(stage: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    made = stage()
    return time.process_time() - began, made


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
