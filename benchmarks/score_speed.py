"""Seconds and memory of scoring 10 episodes of 1000 steps to H = 100, against plain loops.

Every side runs in a process of its own on one core: the paper's 2×256 network with running batch
statistics, R² of every dimension at 1 to 100 steps ahead from all 10 000 starts. The loops in
NumPy and PyTorch take all starts at once, step after step, as one would write it down.
"""

import statistics
import time
from pathlib import Path

from benchmarks import pinned
from benchmarks.harness import Result

SIDES = ("farstep", "numpy_loop", "pytorch_loop", "farstep.score")
HORIZON, REPEATS = 100, 3
SIZES = (1, 4)
"""Times the test episodes are repeated, to see what memory does."""


def run() -> Result:
    rows = []
    for size in SIZES:
        calls = {side: f"benchmarks.score_speed:measured({side!r}, {size})" for side in SIDES}
        measured = [{s: pinned.run(call) for s, call in calls.items()} for _ in range(REPEATS)]
        for side in SIDES:
            seconds = statistics.median(one[side]["seconds"] for one in measured)
            ratios = [one[side]["seconds"] / one["farstep"]["seconds"] for one in measured]
            memory = statistics.median(one[side]["memory"] for one in measured)
            rows.append(
                (
                    f"{10 * size} episodes",
                    side.replace("_", " "),
                    f"{seconds:.2f}",
                    f"{statistics.median(ratios):.2f}×",
                    f"{memory:.0f}",
                    f"{measured[0][side]['r2']:.6f}",
                )
            )
    return Result(
        how=f"Medians of {REPEATS} runs of each side in turn, one core and one thread each; state "
        f"5, action 1, 2×256 Tanh with batch normalisation, float32, H = {HORIZON}, every start of "
        "episodes of 1000 steps. The first three compute R²; `farstep.score` adds calibration and "
        "trajectories. Compilation is not counted. Memory is how far the process rose above what "
        "it held before, at its highest.",
        columns=("data", "side", "seconds", "time against Farstep", "memory, MB", "mean R²(100)"),
        rows=rows,
    )


def measured(side: str, size: int) -> dict[str, float]:
    """Return what one side took."""
    import jax
    import numpy as np

    from farstep import load, score
    from farstep.dynamics.network_dynamics import Form, NetworkDynamics
    from farstep.dynamics.scaling import Scaling
    from farstep.scoring.errors import r_squared

    train, _, test = load("cartpole-swingup/random").split(0)
    form = Form(target="delta")
    dynamics = NetworkDynamics.create(
        jax.random.key(0), Scaling.of(train, "delta", 1), form, stride=1, fixed_std=0.1
    )
    data = test.take(list(range(10)) * size)
    function = {
        "farstep": lambda episodes: r_squared(dynamics, episodes, HORIZON),
        "farstep.score": lambda episodes: (
            score(dynamics, episodes, HORIZON, references=False).scores[0].r2_dimensions[0]
        ),
        "numpy_loop": lambda episodes: loop(*_numpy_step(dynamics), episodes),
        "pytorch_loop": lambda episodes: loop(*_pytorch_step(dynamics), episodes),
    }[side]
    function(test.take([0]))
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is now
    before = _highest()
    start = time.perf_counter()
    values = function(data)
    seconds = time.perf_counter() - start
    after = _highest()
    r2 = float(np.asarray(values)[-1].mean())
    return {"seconds": seconds, "memory": (after - before) / 1024, "r2": r2}


def _highest() -> int:
    """Return the most memory that this process has held, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def loop(step, as_input, episodes):
    """Return R²(j) of each dimension, all starts of all episodes at once."""
    import numpy as np

    states = np.concatenate([e.states[:-1] for e in episodes]).astype(np.float32)
    left = np.concatenate([np.arange(len(e.actions), 0, -1) for e in episodes])
    rows = np.concatenate([e.states for e in episodes])
    first = np.concatenate(
        [o + np.arange(n) for o, n in zip(episodes.row_offsets, episodes.lengths, strict=False)]
    )
    action = np.concatenate(
        [o + np.arange(n) for o, n in zip(episodes.step_offsets, episodes.lengths, strict=False)]
    )
    current, scores = as_input(states), []
    for j in range(1, HORIZON + 1):
        here = np.minimum(action + j - 1, len(episodes.actions) - 1)
        current = step(current, as_input(episodes.actions[here].astype(np.float32)))
        inside = left >= j
        targets = rows[(first + j)[inside]]
        errors = np.square(targets - np.asarray(current)[inside]).sum(axis=0)
        scores.append(1 - errors / np.square(targets - targets.mean(axis=0)).sum(axis=0))
    return np.stack(scores)


def _parts(dynamics):
    """Return the network as plain matrices, with the batch statistics folded in."""
    import numpy as np

    layers = []
    for layer, running in zip(dynamics.network.layers, dynamics.statistics, strict=True):
        scale = np.asarray(layer.scale) / np.sqrt(np.asarray(running.variance) + 1e-5)
        shift = np.asarray(layer.shift) - np.asarray(running.mean) * scale
        layers.append((np.asarray(layer.weight) * scale, shift))
    head = dynamics.network
    layers.append((np.asarray(head.head_weight).T, np.asarray(head.head_bias)))
    names = ("state_mean", "state_std", "action_mean", "action_std", "target_mean", "target_std")
    return layers, [np.asarray(getattr(dynamics.scaling, name)) for name in names]


def _numpy_step(dynamics):
    import numpy as np

    layers, (sm, ss, am, as_, tm, ts) = _parts(dynamics)

    def step(state, action):
        x = np.concatenate([(state - sm) / ss, (action - am) / as_], axis=1)
        for weight, shift in layers[:-1]:
            x = np.tanh(x @ weight + shift)
        return state + tm + ts * (x @ layers[-1][0] + layers[-1][1])

    return step, lambda values: values


def _pytorch_step(dynamics):
    import torch

    torch.set_num_threads(1)
    layers, scaling = _parts(dynamics)
    layers = [(torch.tensor(weight), torch.tensor(shift)) for weight, shift in layers]
    sm, ss, am, as_, tm, ts = map(torch.tensor, scaling)

    @torch.no_grad()
    def step(state, action):
        x = torch.cat([(state - sm) / ss, (action - am) / as_], dim=1)
        for weight, shift in layers[:-1]:
            x = torch.tanh(torch.addmm(shift, x, weight))
        return state + tm + ts * torch.addmm(layers[-1][1], x, layers[-1][0])

    return step, torch.from_numpy
