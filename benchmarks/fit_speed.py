"""Updates per second of a fit, against eager PyTorch and the machine's GEMM limit.

Every side runs in a process of its own, pinned to one core with one thread, at the same sizes:
observation 5, action 1, 2×256 Tanh, batch normalisation, batch 64, two heads, normalised inputs and
outputs, and the Gaussian likelihood.
"""

import statistics

from benchmarks import pinned
from benchmarks.harness import Result, median_seconds, per_second, ratio, size
from benchmarks.paper_model import ACTIONS, BATCH, OBSERVATIONS, WIDTH, updates_per_second

CASES = size(((1, 0.1), (10, 0.1), (1, 0.0), (10, 0.0)), ((2, 0.1),))
SIDES = ("farstep", "pytorch", "gemm")
D, K, REPEATS = OBSERVATIONS, ACTIONS, size(3, 1)


def run() -> Result:
    rows = []
    for horizon, dropout in CASES:
        calls = {side: f"benchmarks.fit_speed:{side}({horizon}, {dropout})" for side in SIDES}
        rates = pinned.in_turn(calls, REPEATS)
        pairs = zip(rates["farstep"], rates["gemm"], strict=True)
        share = statistics.median(_flops(horizon) * ours / limit for ours, limit in pairs)
        ours, theirs, gemm = (statistics.median(rates[side]) for side in SIDES)
        rows.append(
            (
                str(horizon),
                "on" if dropout else "off",
                f"{ours:.0f}",
                f"{theirs:.0f}",
                ratio(rates["farstep"], rates["pytorch"]),
                f"{gemm / 1e9:.0f} GFLOP/s",
                f"{share:.0%}",
            )
        )
    return Result(
        how=f"Medians of {REPEATS} runs of each side in turn, with the range in parentheses. "
        f"Observation {D}, action {K}, 2×{WIDTH} Tanh, batch normalisation, batch {BATCH}, nll. "
        "The GEMM limit is the rate of a 64×256 by 256×256 product in the same minute; an update's "
        "products count three times its forward ones.",
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
    """Return updates per second of `fit`."""
    return updates_per_second(horizon, dropout=dropout, loss="nll")


def pytorch(horizon: int, dropout: float) -> float:
    """Return updates per second of the same in eager PyTorch."""
    import torch

    torch.set_num_threads(1)
    layers: list[torch.nn.Module] = []
    inputs = D + K
    for _ in range(2):
        layers += [torch.nn.Linear(inputs, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Tanh()]
        layers += [torch.nn.Dropout(dropout)] if dropout else []
        inputs = WIDTH
    trunk = torch.nn.Sequential(*layers)
    mean_head, log_std_head = torch.nn.Linear(WIDTH, D), torch.nn.Linear(WIDTH, D)
    modules = (trunk, mean_head, log_std_head)
    adam = torch.optim.Adam([p for module in modules for p in module.parameters()], 1e-3)
    observations, actions = torch.randn(36_000, D), torch.randn(36_000, K)
    centre, scale = observations.mean(dim=0), observations.std(dim=0)
    action_centre, action_scale = actions.mean(dim=0), actions.std(dim=0)
    steps = torch.arange(horizon + 1)

    def update() -> None:
        rows = torch.randint(0, 36_000 - horizon - 1, (BATCH, 1)) + steps
        s, a = observations[rows], actions[rows[:, :-1]]
        x, loss = s[:, 0], torch.zeros(())
        for j in range(horizon):
            normalised = [(x - centre) / scale, (a[:, j] - action_centre) / action_scale]
            hidden = trunk(torch.cat(normalised, dim=1))
            x, log_std = centre + scale * mean_head(hidden), log_std_head(hidden).clamp(-10, 2)
            error = (s[:, j + 1] - x) / scale * torch.exp(-log_std)
            loss = loss + (0.5 * error**2 + log_std).mean() / horizon
        adam.zero_grad()
        loss.backward()
        adam.step()

    return per_second(update, seconds=4.0, warm_up=10)


def gemm(*_: float) -> float:
    """Return the rate, in FLOP/s, of a hidden layer's product alone, compiled."""
    return gemm_flops(BATCH)


def gemm_flops(batch: int) -> float:
    """Return the FLOP/s of a batch times a hidden layer's matrix."""
    import jax

    products = size(1000, 100)
    x = jax.random.normal(jax.random.key(0), (batch, WIDTH))
    w = jax.random.normal(jax.random.key(1), (WIDTH, WIDTH)) / 16
    many = jax.jit(lambda x, w: jax.lax.fori_loop(0, products, lambda _, x: x @ w, x))
    seconds = median_seconds(lambda: many(x, w).block_until_ready())
    return products * 2 * batch * WIDTH * WIDTH / seconds
