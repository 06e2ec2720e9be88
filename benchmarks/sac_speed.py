"""Steps and updates per second of the compiled SAC, against Stable-Baselines3, SBX and the limit.

Every side trains in the same model (the paper's network, untrained: it costs the same) with default
sizes: one system, one update a step, 2×256, batch 256. Each runs in a process of its own, pinned.
SBX gets a virtual environment of its own, `.venv-sbx`.
"""

import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.harness import Result
from benchmarks.pinned import CORES, ROOT, result, start

SBX = ROOT / ".venv-sbx" / "bin" / "python"
STEPS, REPEATS = 900, 3
D, K, WIDTH, BATCH = 5, 1, 256, 256
NETWORKS = 16
"""Forward passes' worth of products in an update: actor on s and s' 2, target critics 2, critics
forward 2 and backward 4, critics under the actor forward 2 and to their inputs 2, actor back 2."""


def run() -> Result:
    _install_sbx()
    one = [CORES[-1]]
    measured: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for name, call, python in (
            ("Farstep", "benchmarks.sac_speed:farstep()", sys.executable),
            ("Stable-Baselines3", "benchmarks.sac_speed:stable_baselines3(1)", sys.executable),
            ("SBX", "benchmarks.sac_speed:sbx()", SBX),
            ("limit", "benchmarks.sac_speed:gemm_limit()", sys.executable),
        ):
            rate = result(start(call, one, python))
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
        how=f"Steps per second, one update each; medians of {REPEATS} runs of {STEPS} steps in "
        "turn after a first part that is not counted, in parentheses the range of ratios. The "
        "limit: the update's own products at the rate of a 256×256 by 256×256 product in the same "
        "minute. On two cores: the sum of two runs at once, against two of theirs or one of theirs "
        f"with two threads, whichever was faster ({theirs_on_two}).",
        columns=("", "Farstep", "against", "their rate", "ratio"),
        rows=rows,
    )


def _row(where: str, measured: dict[str, list[float]], ours: str, theirs: str) -> tuple[str, ...]:
    ratios = [a / b for a, b in zip(measured[ours], measured[theirs], strict=True)]
    middle = statistics.median(ratios)
    text = f"{middle:.0%}" if theirs == "limit" else f"{middle:.2f}×"
    return (
        where,
        f"{statistics.median(measured[ours]):.0f}",
        "the products alone" if theirs == "limit" else theirs,
        f"{statistics.median(measured[theirs]):.0f}",
        f"{text} ({min(ratios):.2f} to {max(ratios):.2f})",
    )


def _two_cores() -> dict[str, float]:
    first, second = CORES[0], CORES[-1]
    found = {}
    for name, call in (
        ("two of Farstep", "benchmarks.sac_speed:farstep()"),
        ("two of Stable-Baselines3", "benchmarks.sac_speed:stable_baselines3(1)"),
    ):
        both = [start(call, [core]) for core in (first, second)]
        found[name] = sum(result(one) for one in both)
    call = "benchmarks.sac_speed:stable_baselines3(2)"
    one = start(call, [first, second], environment={"OMP_NUM_THREADS": "2"})
    found["Stable-Baselines3, two threads"] = result(one)
    return found


def imagined_system() -> Any:
    """Return the paper's network, untrained but with the random set's scaling, as a system."""
    import jax

    from farstep import load
    from farstep.dynamics.network_dynamics import Form, NetworkDynamics
    from farstep.dynamics.scaling import Scaling
    from farstep.imagination.imagine import imagine
    from farstep.model import Model

    data = load("cartpole-swingup/random")
    scaling = Scaling.of(data, "delta", 1)
    dynamics = NetworkDynamics.create(
        jax.random.key(0), scaling, Form(target="delta", learned_std=True), 1, 0.1
    )
    return imagine(Model(dynamics, data.signals, data.system), data=data)


def farstep() -> float:
    """Return steps per second of the compiled program."""
    import jax
    import jax.numpy as jnp

    from farstep.agents.config import AgentConfig
    from farstep.agents.imagined import ImaginedTraining
    from farstep.agents.program import LEARNING, WARM_UP, live

    config = AgentConfig()
    training = ImaginedTraining(imagined_system(), config, 0)
    world, key = training.imagination.world, training.keys.steps
    state = training.first()
    state, _ = live(state, world, key, jnp.array(300), config, WARM_UP)
    rates = []
    for _ in range(4):
        began = time.perf_counter()
        state, tally = live(state, world, key, jnp.array(STEPS // 3), config, LEARNING)
        jax.block_until_ready(tally)
        rates.append(STEPS // 3 / (time.perf_counter() - began))
    return statistics.median(rates[1:])


def stable_baselines3(threads: int) -> float:
    """Return steps per second of Stable-Baselines3's SAC on the adapter."""
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(threads)
    return _learn(SAC("MlpPolicy", imagined_system().sb3_env(1), device="cpu", seed=0))


def sbx() -> float:
    """Return steps per second of SBX's SAC on the adapter."""
    from sbx import SAC  # pyright: ignore[reportMissingImports]

    return _learn(SAC("MlpPolicy", imagined_system().sb3_env(1), seed=0))


def _learn(agent: Any) -> float:
    agent.learn(400)  # the warm-up, and what is compiled at the first updates
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        agent.learn(STEPS // 3, reset_num_timesteps=False)
        rates.append(STEPS // 3 / (time.perf_counter() - began))
    return statistics.median(rates)


def gemm_limit() -> float:
    """Return updates per second if an update were its products at full speed, and nothing else."""
    import jax

    x = jax.random.normal(jax.random.key(0), (BATCH, WIDTH))
    w = jax.random.normal(jax.random.key(1), (WIDTH, WIDTH)) / 16
    many = jax.jit(lambda x, w: jax.lax.fori_loop(0, 300, lambda _, x: x @ w, x))
    many(x, w).block_until_ready()
    seconds = []
    for _ in range(9):
        began = time.perf_counter()
        many(x, w).block_until_ready()
        seconds.append(time.perf_counter() - began)
    rate = 300 * 2 * BATCH * WIDTH * WIDTH / statistics.median(seconds)
    flops = 2 * BATCH * NETWORKS * (WIDTH * WIDTH + (D + K) * WIDTH + WIDTH)
    return rate / flops


def _install_sbx() -> None:
    if not SBX.exists():
        subprocess.run([sys.executable, "-m", "venv", str(SBX.parents[1])], check=True)
        install = [str(SBX), "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt"]
        subprocess.run([*install, "--editable", ".[sb3]", "sbx-rl"], cwd=ROOT, check=True)
