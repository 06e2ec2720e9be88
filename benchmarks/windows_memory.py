"""Bytes that windows hold for h = 1, 10 and 100 on 1 000 000 steps, and one batch of them."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Result, size
from farstep import Episodes, Signals
from farstep.data.windows import Windows

STEPS, EPISODES, D, K, BATCH = *size((1_000_000, 1_000), (2_000, 10)), 5, 1, 64


def run() -> Result:
    rng = np.random.default_rng(0)
    data = Episodes(
        observations=rng.normal(size=(STEPS + EPISODES, D)).astype(np.float32),
        actions=rng.normal(size=(STEPS, K)).astype(np.float32),
        lengths=np.full(EPISODES, STEPS // EPISODES),
        signals=Signals.unnamed(D, K),
    )
    gather = jax.jit(lambda windows, index: windows.gather(index))
    rows = []
    for horizon in (1, 10, 100):
        windows = Windows.of(data, horizon)
        held = sum(leaf.nbytes for leaf in jax.tree.leaves(windows))
        copied = len(windows) * ((horizon + 1) * D + horizon * K) * 4
        index = jnp.asarray(rng.integers(0, len(windows), BATCH))
        compiled = gather.lower(windows, index).compile().memory_analysis()
        assert compiled is not None
        rows.append(
            (
                str(horizon),
                f"{len(windows):,}",
                f"{held / 1e6:.1f} MB",
                f"{copied / 1e6:,.0f} MB",
                f"{(compiled.output_size_in_bytes + compiled.temp_size_in_bytes) / 1e3:.1f} kB",
            )
        )
    return Result(
        how=f"{STEPS:,} steps in {EPISODES:,} episodes, {D} observations, {K} action, float32; the "
        f"batch has {BATCH} windows.",
        columns=("h", "windows", "held", "if copied out", "one batch"),
        rows=rows,
    )
