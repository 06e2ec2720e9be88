"""Imagined steps per second behind the SB3 adapter, against mbrl-lib's `ModelEnv`."""

import itertools
import statistics
import time

from benchmarks import pinned
from benchmarks.fit_mbrl import PEER, install
from benchmarks.harness import Result

COUNTS, REPEATS = (1, 64, 4096), 3


def run() -> Result:
    install()
    rows = []
    for count in COUNTS:
        ours, limits, theirs = [], [], []
        for _ in range(REPEATS):
            for side, rates in (("farstep", ours), ("products", limits)):
                rates.append(pinned.run(f"benchmarks.imagined_steps:{side}({count})"))
            theirs.append(pinned.run(f"benchmarks/peers/mbrl_model_env.py {count}", PEER))
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        highest = [a / b for a, b in zip(limits, theirs, strict=True)]
        rows.append(
            (
                str(count),
                f"{statistics.median(ours):,.0f}",
                f"{statistics.median(theirs):,.0f}",
                f"{statistics.median(ratios):.1f}× ({min(ratios):.1f} to {max(ratios):.1f})",
                f"{statistics.median(highest):.1f}×",
            )
        )
    return Result(
        how="Steps per second of all systems together, on one pinned core; medians of "
        f"{REPEATS} runs of three seconds in turn. One Gaussian network of 2×256 Tanh units on "
        "both sides, differences as targets, the mean as next state. Farstep's side includes "
        "bounds, rewards, ends of episodes, new starts and the distance from the data; "
        "mbrl-lib's (0.2.0) a reward and a termination function. Limit: the ratio of a compiled "
        "loop of nothing but the network's matrix products.",
        columns=("systems", "Farstep", "mbrl-lib", "ratio", "limit"),
        rows=rows,
    )


def farstep(count: int) -> float:
    """Return steps per second of the adapter."""
    import jax
    import numpy as np

    from farstep import load
    from farstep.dynamics.network import NetworkShape
    from farstep.dynamics.network_dynamics import Form, NetworkDynamics
    from farstep.dynamics.scaling import Scaling
    from farstep.imagination.imagine import imagine
    from farstep.model import Model

    data = load("cartpole-swingup/random")
    form = Form(NetworkShape(normalisation="none", dropout=0.0), "delta", learned_std=True)
    dynamics = NetworkDynamics.create(jax.random.key(0), Scaling.of(data, "delta", 1), form, 1, 0.1)
    env = imagine(Model(dynamics, data.signals, data.system), data=data).sb3_env(count)
    env.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (count, 1)).astype(np.float32)
    for _ in range(20):
        env.step(actions)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 3:
        env.step(actions)
        steps += count
    return steps / (time.perf_counter() - began)


def products(count: int) -> float:
    """Return steps per second if a step were its network's three matrix products, no more."""
    import jax
    import jax.numpy as jnp

    sizes, repeats = (6, 256, 256, 10), 200
    keys = jax.random.split(jax.random.key(0), 3)
    layers = [jax.random.normal(k, s) for k, s in zip(keys, itertools.pairwise(sizes), strict=True)]

    def step(_, inputs):
        outputs = inputs
        for layer in layers:
            outputs = outputs @ layer
        return inputs + 1e-9 * outputs[:, :6]  # or nothing would have to be computed

    loop = jax.jit(lambda inputs: jax.lax.fori_loop(0, repeats, step, inputs))
    inputs = jnp.ones((count, 6))
    loop(inputs).block_until_ready()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 3:
        loop(inputs).block_until_ready()
        steps += count * repeats
    return steps / (time.perf_counter() - began)
