"""A larger system end to end, HalfCheetah-v5: what each stage costs beside cartpole's."""

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from benchmarks.harness import Result, size
from farstep import ModelEnv, collect, evaluate, fit, train_agent
from farstep.workflows.worker_pool import run_all

SYSTEMS = ("cartpole-swingup", "half-cheetah")
EPISODES, MODEL_STEPS, STEPS, TRIALS = size((10, 8_000, 20_000, 5), (3, 100, 500, 1))
AHEAD = (1, 10, 50)
T = TypeVar("T")


def run() -> Result:
    load = os.getloadavg()[0]
    found = run_all(list(SYSTEMS), measured, workers=1)
    small, large = (found[name] for name in SYSTEMS)
    rows = []
    for what, value in large.items():
        costs = what.endswith(", s")
        ratio = f"{value / small[what]:.1f}×" if costs else ""
        rows.append((what, _shown(small[what]), _shown(value), ratio))
    quiet = "quiet" if load < 0.5 else "not quiet"
    return Result(
        how="One seed. Random actions, the default fit, the default agent; far too little to solve "
        "either task. Seconds of the processor, one compute thread, compilation included. The "
        f"machine was {quiet}: its load was {load:.1f} before this began.",
        columns=("", *SYSTEMS, "ratio"),
        rows=rows,
    )


def measured(system: str) -> dict[str, Any]:
    """Go through all stages once; return costs and results."""
    collect(system, "random", episodes=1, seed=9)  # imports the simulator, which is not counted
    seconds, data = _timed(lambda: collect(system, "random", episodes=EPISODES, seed=0))
    signals = data.signals
    found: dict[str, Any] = {
        "observations + actions": f"{signals.num_observations} + {signals.num_actions}",
        f"collect {EPISODES} episodes of {data.lengths[0]} steps, s": seconds,
    }
    train, validation, test = data.split(seed=0)
    seconds, model = _timed(lambda: fit(train, validation, model_steps=MODEL_STEPS, seed=0))
    found[f"fit, {MODEL_STEPS} model steps, s"] = seconds
    ahead = AHEAD[-1]
    seconds, result = _timed(lambda: evaluate({"model": model}, test, ahead, references=False))
    found[f"evaluate {len(test)} episodes 1 to {ahead} steps ahead, s"] = seconds
    env = ModelEnv(model, system, train)
    options: dict[str, Any] = {"steps": STEPS, "eval_every": STEPS, "eval_episodes": 0}
    seconds, agent = _timed(lambda: train_agent(env, "default", seed=0, **options))
    found[f"agent, {STEPS} steps of the model, s"] = seconds
    seconds, real = _timed(lambda: collect(system, agent.policy, episodes=TRIALS, seed=1))
    found[f"run it for {TRIALS} real episodes, s"] = seconds
    found["h that auto chose"] = model.horizon
    found |= {f"R²({j})": result["model"].at(j)[0] for j in AHEAD}
    found["mean return of the data"] = np.mean([one.total_reward for one in data])
    found["imagined return of the agent"] = agent.curve.last["imagined_return"]
    found["its real return"] = np.mean([one.total_reward for one in real])
    return found


def _timed(stage: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    made = stage()
    return time.process_time() - began, made


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
