"""Updates per second of a fit, against eager PyTorch and the machine's GEMM limit.

Every side runs in a process of its own, pinned to one core with one thread, on the same sizes:
state 5, action 1, 2×256 Tanh, batch normalisation, batch 64, two heads, normalised inputs and
outputs, and the Gaussian likelihood.
"""

import statistics
import time
from typing import Any

from benchmarks import pinned
from benchmarks.harness import Result

CASES = ((1, 0.1), (10, 0.1), (1, 0.0), (10, 0.0))
D, K, WIDTH, BATCH, REPEATS = 5, 1, 256, 64, 3


def run() -> Result:
    rows = []
    for horizon, dropout in CASES:
        measured = [
            {
                side: pinned.run(f"benchmarks.fit_speed:{side}({horizon}, {dropout})")
                for side in ("farstep", "pytorch", "gemm")
            }
            for _ in range(REPEATS)
        ]
        ours, theirs, gemm = (
            statistics.median(run[side] for run in measured)
            for side in ("farstep", "pytorch", "gemm")
        )
        ratios = [run["farstep"] / run["pytorch"] for run in measured]
        share = statistics.median(
            _flops(horizon) * run["farstep"] / run["gemm"] for run in measured
        )
        rows.append(
            (
                str(horizon),
                "on" if dropout else "off",
                f"{ours:.0f}",
                f"{theirs:.0f}",
                f"{statistics.median(ratios):.1f}× ({min(ratios):.1f} to {max(ratios):.1f})",
                f"{gemm / 1e9:.0f} GFLOP/s",
                f"{share:.0%}",
            )
        )
    return Result(
        how=f"Medians of {REPEATS} runs of each side in turn, in parentheses the range. State {D}, "
        f"action {K}, 2×{WIDTH} Tanh, batch normalisation, batch {BATCH}, nll. The GEMM limit is "
        "the rate of a 64×256 by 256×256 product in the same minute; an update's products count "
        "three times its forward ones.",
        columns=(
            "h",
            "dropout",
            "Farstep, updates/s",
            "PyTorch eager, updates/s",
            "ratio",
            "GEMM",
            "share of the GEMM limit",
        ),
        rows=rows,
    )


def _flops(horizon: int) -> float:
    forward = 2 * BATCH * ((D + K) * WIDTH + WIDTH * WIDTH + WIDTH * 2 * D)
    return 3.0 * forward * horizon


def farstep(horizon: int, dropout: float) -> float:
    """Return updates per second of whole epochs, as `fit` runs them."""
    return epochs_per_second(horizon=horizon, dropout=dropout, loss="nll")


def epochs_per_second(**settings: Any) -> float:
    """Return updates per second of epochs with these settings, on the shipped random set."""
    import jax
    import jax.numpy as jnp

    from farstep import load
    from farstep.dynamics.network_dynamics import NetworkDynamics
    from farstep.fitting.config import fit_config
    from farstep.fitting.fit import FitRun
    from farstep.fitting.training import initial_state, train_epoch
    from farstep.weights import profile

    train, validation, _ = load("cartpole-swingup/random").split()
    config = fit_config("paper", batch=BATCH, **settings)
    run = FitRun(train, validation, config, profile("uniform"))
    dynamics = NetworkDynamics.create(jax.random.key(0), run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, config.horizon, run.recipe)
    updates = max(512 // config.horizon, 50)
    chosen = jnp.arange(updates * BATCH)
    rates = []
    for epoch in range(9):
        start = time.perf_counter()
        state, record = train_epoch(
            state, dynamics, run.windows, chosen, jax.random.key(epoch), run.recipe
        )
        jax.block_until_ready(record)
        rates.append(updates / (time.perf_counter() - start))
    return statistics.median(rates[1:])


def pytorch(horizon: int, dropout: float) -> float:
    """Return updates per second of the same in eager PyTorch."""
    import torch

    torch.set_num_threads(1)
    layers: list[torch.nn.Module] = []
    size = D + K
    for _ in range(2):
        layers += [torch.nn.Linear(size, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Tanh()]
        layers += [torch.nn.Dropout(dropout)] if dropout else []
        size = WIDTH
    trunk = torch.nn.Sequential(*layers)
    mean_head, log_std_head = torch.nn.Linear(WIDTH, D), torch.nn.Linear(WIDTH, D)
    modules = (trunk, mean_head, log_std_head)
    adam = torch.optim.Adam([p for module in modules for p in module.parameters()], 1e-3)
    states, actions = torch.randn(36_000, D), torch.randn(36_000, K)
    centre, scale = states.mean(dim=0), states.std(dim=0)
    action_centre, action_scale = actions.mean(dim=0), actions.std(dim=0)
    steps = torch.arange(horizon + 1)

    def update() -> None:
        rows = torch.randint(0, 36_000 - horizon - 1, (BATCH, 1)) + steps
        s, a = states[rows], actions[rows[:, :-1]]
        x, loss = s[:, 0], torch.zeros(())
        for j in range(horizon):
            inputs = [(x - centre) / scale, (a[:, j] - action_centre) / action_scale]
            hidden = trunk(torch.cat(inputs, dim=1))
            x, log_std = centre + scale * mean_head(hidden), log_std_head(hidden).clamp(-10, 2)
            error = (s[:, j + 1] - x) / scale * torch.exp(-log_std)
            loss = loss + (0.5 * error**2 + log_std).mean() / horizon
        adam.zero_grad()
        loss.backward()
        adam.step()

    return _rate(update)


def gemm(horizon: int, dropout: float) -> float:
    """Return the rate, in FLOP/s, of a hidden layer's product alone, compiled."""
    del horizon, dropout
    import jax

    x = jax.random.normal(jax.random.key(0), (BATCH, WIDTH))
    w = jax.random.normal(jax.random.key(1), (WIDTH, WIDTH)) / 16
    many = jax.jit(lambda x, w: jax.lax.fori_loop(0, 1000, lambda _, x: x @ w, x))
    many(x, w).block_until_ready()
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        many(x, w).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return 1000 * 2 * BATCH * WIDTH * WIDTH / statistics.median(seconds)


def _rate(update, seconds: float = 4.0) -> float:
    for _ in range(10):
        update()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        update()
        count += 1
    return count / (time.perf_counter() - start)
