"""How a fit's time and memory grow with the horizon.

One process, one core, one thread; sizes as in `fit_speed`.
"""

from benchmarks import pinned
from benchmarks.harness import Result, size
from benchmarks.paper_model import BATCH, DATA, updates_per_second

TIMES = size((1, 2, 5, 10, 16, 20, 35, 50), (1, 2, 4))
MEMORY = size((1, 10, 50, 100), (1, 4))


def run() -> Result:
    """Measure in a process that is pinned to one core."""
    rows = [tuple(row) for row in pinned.run("benchmarks.fit_scaling:measured()")]
    return Result(
        how=f"Batch {BATCH}, 2×256 Tanh, batch normalisation, dropout on, nll; medians over "
        "epochs. Memory is what XLA reserves for a program's temporaries.",
        columns=("what", "measured"),
        rows=rows,
    )


def measured() -> list[tuple[str, str]]:
    """Return each quantity by its name."""
    import numpy as np

    milliseconds = np.array([_milliseconds(h) for h in TIMES])
    slope, start = np.polyfit(TIMES, milliseconds, 1)
    residual = milliseconds - (start + slope * np.array(TIMES))
    quality = 1 - residual.var() / milliseconds.var()
    each = ", ".join(f"{h}: {ms:.2f}" for h, ms in zip(TIMES, milliseconds, strict=True))
    found = [
        ("milliseconds an update at h", each),
        ("linear fit of time against h", f"{start:.2f} + {slope:.3f} h ms, R² = {quality:.4f}"),
    ]
    for rematerialise in (False, True):
        sizes = ", ".join(f"{h}: {_memory(h, rematerialise) / 1e6:.1f}" for h in MEMORY)
        found.append((f"MB at h{', rematerialised' if rematerialise else ''}", sizes))
    again = _milliseconds(TIMES[-1], rematerialise=True)
    share = f"{again / milliseconds[-1]:.2f}×"
    return [*found, (f"time of rematerialising at h = {TIMES[-1]}", share)]


def _milliseconds(horizon: int, rematerialise: bool = False) -> float:
    return 1e3 / updates_per_second(horizon, loss="nll", rematerialise=rematerialise)


def _memory(horizon: int, rematerialise: bool) -> float:
    """Return the bytes of temporaries of the compiled updates."""
    import jax
    import jax.numpy as jnp

    from farstep import load_dataset
    from farstep.training.config import fit_config
    from farstep.training.epoch import Part, Sums, initial_state, train_part
    from farstep.training.trainer import Trainer

    train, validation, _ = load_dataset(DATA).split()
    config = fit_config("paper", horizon=horizon, loss="nll", rematerialise=rematerialise)
    trainer = Trainer(train, validation, config)
    dynamics = trainer.new_member(jax.random.key(0))
    zero, weights = jnp.zeros((), jnp.int32), jnp.full(horizon, 1 / horizon)
    lowered = train_part.lower(
        initial_state(dynamics, horizon, trainer.program),
        Sums(jnp.zeros(horizon), jnp.zeros(()), jnp.zeros(horizon, bool)),
        dynamics,
        trainer.windows,
        Part(trainer.chosen, jax.random.split(jax.random.key(0), (64, horizon)), zero, zero, zero),
        None,
        weights,
        BATCH,
        trainer.program,
    )
    analysis = lowered.compile().memory_analysis()
    assert analysis is not None
    return analysis.temp_size_in_bytes
