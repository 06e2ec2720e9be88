"""How a fit's time and memory grow with the horizon, and whether members gain from one program.

One process, one core, one thread; sizes as in `fit_speed`.
"""

from benchmarks import pinned
from benchmarks.fit_speed import BATCH
from benchmarks.harness import Result

TIMES = (1, 2, 5, 10, 16, 20, 35, 50)
MEMORY = (1, 10, 50, 100)
MEMBERS = 5
UPDATES = 24


def run() -> Result:
    """Measure in a child that is pinned to one core."""
    rows = [tuple(row) for row in pinned.run("benchmarks.fit_scaling:measure()")]
    return Result(
        how=f"Batch {BATCH}, 2×256 Tanh, batch normalisation, dropout on, nll; medians of 5 "
        f"programs of {UPDATES} updates. Memory is what XLA reserves for a program's "
        "temporaries.",
        columns=("what", "measured"),
        rows=rows,
    )


def measure() -> list[tuple[str, str]]:
    """Return each quantity by its name."""
    import numpy as np

    found = []
    seconds = {h: _seconds(h) for h in TIMES}
    slope, start = np.polyfit(list(seconds), list(seconds.values()), 1)
    fitted = [start + slope * h for h in seconds]
    residual = np.array(list(seconds.values())) - fitted
    quality = 1 - residual.var() / np.var(list(seconds.values()))
    each = ", ".join(f"{h}: {1e3 * s:.2f}" for h, s in seconds.items())
    found.append(("milliseconds an update at h", each))
    line = f"{1e3 * start:.2f} + {1e3 * slope:.3f} h ms, R² = {quality:.4f}"
    found.append(("linear fit of time against h", line))
    for rematerialise in (False, True):
        sizes = ", ".join(f"{h}: {_memory(h, rematerialise) / 1e6:.1f}" for h in MEMORY)
        found.append((f"MB at h{', rematerialised' if rematerialise else ''}", sizes))
    plain, again = _seconds(50), _seconds(50, rematerialise=True)
    found.append(("time of rematerialising at h = 50", f"{again / plain:.2f}×"))
    for h in (1, 4):
        alone, together = _seconds(h), _together(h)
        what = f"{MEMBERS} members in one program (vmap) against one after the other, h = {h}"
        found.append((what, f"{MEMBERS * alone / together:.2f}× the rate"))
    return found


def _prepared(horizon: int, rematerialise: bool = False):
    import jax
    import jax.numpy as jnp

    from farstep import load
    from farstep.dynamics.network_dynamics import NetworkDynamics
    from farstep.fitting.config import fit_config
    from farstep.fitting.fit import FitRun
    from farstep.fitting.training import initial_state
    from farstep.weights import profile

    train, validation, _ = load("cartpole-swingup/random").split()
    config = fit_config("paper", horizon=horizon, loss="nll", rematerialise=rematerialise)
    run = FitRun(train, validation, config, profile("uniform"))
    dynamics = NetworkDynamics.create(jax.random.key(0), run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, horizon, run.recipe)
    return run, dynamics, state, jnp.arange(UPDATES * BATCH)


def _seconds(horizon: int, rematerialise: bool = False) -> float:
    import jax

    from farstep.fitting.training import train_epoch

    run, dynamics, state, chosen = _prepared(horizon, rematerialise)

    def once(state):
        return train_epoch(state, dynamics, run.windows, chosen, jax.random.key(0), run.recipe)

    return _timed(once, state)


def _together(horizon: int) -> float:
    """Return the seconds of one update of all members, vmapped."""
    import jax
    import jax.numpy as jnp

    from farstep.fitting.training import train_epoch

    run, dynamics, state, chosen = _prepared(horizon)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * MEMBERS), state)
    keys = jax.random.split(jax.random.key(0), MEMBERS)
    many = jax.jit(
        jax.vmap(lambda s, k: train_epoch(s, dynamics, run.windows, chosen, k, run.recipe)),
        donate_argnums=0,
    )
    return _timed(lambda s: many(s, keys), states)


def _timed(once, state) -> float:
    import statistics
    import time

    import jax

    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        state, record = once(state)
        jax.block_until_ready(record)
        seconds.append((time.perf_counter() - start) / UPDATES)
    return statistics.median(seconds[1:])


def _memory(horizon: int, rematerialise: bool) -> float:
    import jax

    from farstep.fitting.training import train_epoch

    run, dynamics, state, chosen = _prepared(horizon, rematerialise)
    lowered = jax.jit(train_epoch, static_argnames="recipe").lower(
        state, dynamics, run.windows, chosen, jax.random.key(0), recipe=run.recipe
    )
    analysis = lowered.compile().memory_analysis()
    assert analysis is not None
    return analysis.temp_size_in_bytes
