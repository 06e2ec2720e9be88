"""Steps per second of the model environment behind the SB3 adapter, against mbrl-lib's."""

import itertools
import statistics

from benchmarks import pinned
from benchmarks.fit_mbrl import mbrl_python
from benchmarks.harness import Result, per_second, ratio, size
from benchmarks.paper_model import ACTIONS, OBSERVATIONS, WIDTH, paper_env

COUNTS, REPEATS = size((1, 64, 4096), (2,)), size(3, 1)
SIDES = ("farstep", "products", "mbrl-lib")


def run() -> Result:
    rows = []
    for count in COUNTS:
        calls = {side: f"benchmarks.model_env_steps:{side}({count})" for side in SIDES[:2]}
        calls["mbrl-lib"] = f"benchmarks.peers.mbrl:steps_per_second({count})"
        rates = pinned.in_turn(calls, REPEATS, {"mbrl-lib": mbrl_python()})
        pairs = zip(rates["products"], rates["mbrl-lib"], strict=True)
        rows.append(
            (
                str(count),
                f"{statistics.median(rates['farstep']):,.0f}",
                f"{statistics.median(rates['mbrl-lib']):,.0f}",
                ratio(rates["farstep"], rates["mbrl-lib"]),
                f"{statistics.median(limit / theirs for limit, theirs in pairs):.1f}×",
            )
        )
    return Result(
        how="Steps per second of all systems together, on one pinned core; medians of "
        f"{REPEATS} runs of three seconds in turn. One Gaussian network of 2×{WIDTH} Tanh units on "
        "both sides, differences as targets, the mean as next state. Farstep's side includes "
        "bounds, rewards, ends of episodes, new starts and the distance from the data; "
        "mbrl-lib's (0.2.0) a reward and a termination function. Limit: the ratio of a compiled "
        "loop of nothing but the network's matrix products.",
        columns=("systems", "Farstep", "mbrl-lib", "ratio", "limit"),
        rows=rows,
    )


def farstep(count: int) -> float:
    """Return steps per second of the adapter."""
    import numpy as np

    env = paper_env(normalisation="none", dropout=0.0, loss="nll").sb3(count)
    env.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (count, ACTIONS)).astype(np.float32)
    return count * per_second(lambda: env.step(actions))


def products(count: int) -> float:
    """Return steps per second if a step were its network's three matrix products, no more."""
    import jax
    import jax.numpy as jnp

    inputs = OBSERVATIONS + ACTIONS
    sizes, repeats = (inputs, WIDTH, WIDTH, 2 * OBSERVATIONS), 200
    keys = jax.random.split(jax.random.key(0), 3)
    layers = [jax.random.normal(k, s) for k, s in zip(keys, itertools.pairwise(sizes), strict=True)]

    def step(_, values):
        outputs = values
        for layer in layers:
            outputs = outputs @ layer
        return values + 1e-9 * outputs[:, :inputs]  # or nothing would have to be computed

    loop = jax.jit(lambda values: jax.lax.fori_loop(0, repeats, step, values))
    values = jnp.ones((count, inputs))
    return count * repeats * per_second(lambda: loop(values).block_until_ready(), warm_up=1)
