"""What an update at h = 1 cannot go below: its matrix products and Adam, each timed alone.

The products are those of state 5, action 1, 2×256, two heads, at batch 64, forward and backward.
"""

from benchmarks import pinned
from benchmarks.fit_speed import BATCH, WIDTH, D, K
from benchmarks.harness import Result, median_seconds

TURNS = 500


def run() -> Result:
    parts = pinned.run("benchmarks.fit_floor:parts()")
    sides = ("farstep", "pytorch")
    whole = [1e6 / pinned.run(f"benchmarks.fit_speed:{side}(1, 0.0)") for side in sides]
    products = sum(parts[name] for name in parts if name != "Adam")
    rows = [(name, f"{value:.0f}") for name, value in parts.items()]
    rows += [
        ("all products and Adam", f"{products + parts['Adam']:.0f}"),
        ("Farstep's whole update", f"{whole[0]:.0f}"),
        ("eager PyTorch's whole update", f"{whole[1]:.0f}"),
        ("a fifth of that", f"{whole[1] / 5:.0f}"),
    ]
    return Result(
        how=f"One pinned core, medians of 7 times {TURNS} turns of a compiled loop; h = 1, dropout "
        "off, batch 64, nll. The parts and the whole updates are measured one after the other.",
        columns=("part", "µs"),
        rows=rows,
    )


def parts() -> dict[str, float]:
    """Return the microseconds of each part."""
    import jax
    import jax.numpy as jnp

    def random(*shape: int) -> jax.Array:
        return jax.random.normal(jax.random.key(sum(shape)), shape) / 16

    def micros(step, *values: jax.Array) -> float:
        many = jax.jit(lambda *v: jax.lax.fori_loop(0, TURNS, lambda _, v: step(*v), v))
        return 1e6 / TURNS * median_seconds(lambda: jax.block_until_ready(many(*values)))

    def product(m: int, n: int, p: int) -> float:
        """Time (m, n) by (n, p); the result moves an input a little, so that none is skipped."""
        x, w = random(m, n), random(n, p)
        return micros(lambda x, w, y: (x + 1e-9 * y[0, 0], w, x @ w), x, w, random(m, p))

    def adam(p: jax.Array, m: jax.Array, v: jax.Array, g: jax.Array) -> tuple[jax.Array, ...]:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v, g

    w = random(WIDTH, WIDTH)
    return {
        "hidden product, forward": product(BATCH, WIDTH, WIDTH),
        "hidden product, to the inputs": product(BATCH, WIDTH, WIDTH),
        "hidden product, to the weights": product(WIDTH, BATCH, WIDTH),
        "first product, forward and to the weights": product(BATCH, D + K, WIDTH)
        + product(D + K, BATCH, WIDTH),
        "heads' products, all three": product(BATCH, WIDTH, 2 * D)
        + product(BATCH, 2 * D, WIDTH)
        + product(2 * D, BATCH, WIDTH),
        "Adam": micros(adam, w, 0 * w, 0 * w, w),
    }
