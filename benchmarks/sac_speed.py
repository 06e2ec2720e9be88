"""Steps and updates per second of the compiled SAC, against Stable-Baselines3, SBX and the limit.

Every side trains in the same model (the paper's network) with default sizes: one system, one update
a step, 2×256, batch 256. Each runs in a process of its own, pinned.
SBX gets a virtual environment of its own.
"""

import statistics
from typing import Any

import numpy as np

from benchmarks import pinned
from benchmarks.harness import Result, median_seconds, ratio, size
from benchmarks.paper_model import paper_env

PART, PARTS, REPEATS = size(300, 30), 3, size(3, 1)
"""Steps that are timed together, how many times, and runs."""
D, K, WIDTH, BATCH = 5, 1, 256, 256
NETWORKS = 16
"""Forward passes' worth of products in an update: actor on s and s' 2, target critics 2, critics
forward 2 and backward 4, critics under the actor forward 2 and to their inputs 2, actor back 2."""
OURS, SB3 = "benchmarks.sac_speed:farstep()", "benchmarks.sac_speed:stable_baselines3({threads})"


def run() -> Result:
    calls = {
        "Farstep": OURS,
        "Stable-Baselines3": SB3.format(threads=1),
        "SBX": "benchmarks.sac_speed:sbx()",
        "limit": "benchmarks.sac_speed:gemm_limit()",
    }
    sbx = pinned.peer("sbx", ("--constraint", "constraints.txt", "--editable", ".[sb3]", "sbx-rl"))
    measured: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for name, (rate,) in pinned.in_turn(calls, 1, {"SBX": sbx}).items():
            measured.setdefault(name, []).append(rate)
        for name, rate in _two_cores().items():
            measured.setdefault(name, []).append(rate)
    theirs_on_two = max(
        ("two of Stable-Baselines3", "Stable-Baselines3, two threads"),
        key=lambda name: statistics.median(measured[name]),
    )
    rows = [
        _row("one core", measured, "Farstep", "Stable-Baselines3"),
        _row("one core", measured, "Farstep", "SBX"),
        _row("one core", measured, "Farstep", "limit"),
        _row("two cores", measured, "two of Farstep", theirs_on_two),
    ]
    return Result(
        how=f"Steps per second, one update each; medians of {REPEATS} runs of {PARTS * PART} steps "
        "in turn after a first part that is not counted, in parentheses the range of ratios. The "
        "limit: the update's own products at the rate of a 256×256 by 256×256 product in the same "
        "minute. On two cores: the sum of two runs at once, against two of theirs or one of theirs "
        f"with two threads, whichever was faster ({theirs_on_two}).",
        columns=("", "Farstep", "against", "their rate", "ratio"),
        rows=rows,
    )


def _row(where: str, measured: dict[str, list[float]], ours: str, theirs: str) -> tuple[str, ...]:
    return (
        where,
        f"{statistics.median(measured[ours]):.0f}",
        "the products alone" if theirs == "limit" else theirs,
        f"{statistics.median(measured[theirs]):.0f}",
        ratio(measured[ours], measured[theirs], 2),
    )


def _two_cores() -> dict[str, float]:
    cores = (pinned.CORES[0], pinned.CORES[-1])
    found = {}
    for name, call in (
        ("two of Farstep", OURS),
        ("two of Stable-Baselines3", SB3.format(threads=1)),
    ):
        both = [pinned.start(call, [core]) for core in cores]
        found[name] = sum(pinned.result(one) for one in both)
    threads = {"OMP_NUM_THREADS": "2"}
    alone = pinned.start(SB3.format(threads=2), cores, environment=threads)
    return {**found, "Stable-Baselines3, two threads": pinned.result(alone)}


def farstep() -> float:
    """Return steps per second of the compiled program."""
    from farstep import AgentConfig, train_agent

    config = AgentConfig(
        steps=(2 + PARTS) * PART, learning_starts=PART, eval_every=PART, eval_episodes=0
    )
    curve = train_agent(paper_env(loss="nll"), config).curve
    # The first part has random actions, and the updates are compiled in the second.
    return PART / statistics.median(np.diff(curve.column("seconds"))[1:])


def stable_baselines3(threads: int) -> float:
    """Return steps per second of Stable-Baselines3's SAC on the adapter."""
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(threads)
    return _learn(SAC("MlpPolicy", paper_env(loss="nll").sb3(1), device="cpu", seed=0))


def sbx() -> float:
    """Return steps per second of SBX's SAC on the adapter."""
    from sbx import SAC  # pyright: ignore[reportMissingImports]

    return _learn(SAC("MlpPolicy", paper_env(loss="nll").sb3(1), seed=0))


def _learn(agent: Any) -> float:
    agent.learn(PART + 100)  # the random actions, and the compilation of the first updates
    seconds = median_seconds(lambda: agent.learn(PART, reset_num_timesteps=False), PARTS, warm_up=0)
    return PART / seconds


def gemm_limit() -> float:
    """Return updates per second if an update were its products at full speed, and nothing else."""
    from benchmarks.fit_speed import gemm_flops

    flops = 2 * BATCH * NETWORKS * (WIDTH * WIDTH + (D + K) * WIDTH + WIDTH)
    return gemm_flops(BATCH) / flops
