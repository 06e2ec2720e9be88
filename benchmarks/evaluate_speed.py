"""Seconds and memory of evaluating 10 episodes of 1000 steps to H = 100, against plain loops.

Every side runs in a process of its own on one core: the paper's 2×256 network with running batch
statistics, R² of every dimension at 1 to 100 steps ahead from all 10 000 starts. The loops in
NumPy and PyTorch take all starts at once, step after step, as one would write it down.
"""

import statistics
import time
from pathlib import Path

from benchmarks import pinned
from benchmarks.harness import Result, ratio, size
from benchmarks.paper_model import DATA, paper_model

SIDES = ("r_squared", "numpy_loop", "pytorch_loop", "evaluate")
HORIZON, REPEATS = size(100, 10), size(3, 1)
SIZES = size((1, 4), (1,))
"""Times the test episodes are repeated, to see what memory does."""


def run() -> Result:
    rows = []
    for times in SIZES:
        calls = {side: f"benchmarks.evaluate_speed:measured({side!r}, {times})" for side in SIDES}
        found = pinned.in_turn(calls, REPEATS)
        seconds = {side: [one["seconds"] for one in found[side]] for side in SIDES}
        rows += [
            (
                f"{10 * times} episodes",
                side.replace("_loop", " loop"),
                f"{statistics.median(seconds[side]):.2f}",
                ratio(seconds[side], seconds["r_squared"], 2),
                f"{statistics.median(one['memory'] for one in found[side]):.0f}",
                f"{found[side][0]['r2']:.6f}",
            )
            for side in SIDES
        ]
    return Result(
        how=f"Medians of {REPEATS} runs of each side in turn, with the range in parentheses; one "
        "core and one thread each; observation 5, action 1, 2×256 Tanh with batch normalisation, "
        f"float32, H = {HORIZON}, every start of episodes of 1000 steps. The first three compute "
        "R²; `evaluate` adds calibration and example rollouts. Compilation is not counted. Memory "
        "is how far the process rose above what it held before, at its highest.",
        columns=(
            *("data", "side", "seconds", "time against `r_squared`", "memory, MB"),
            f"mean R²({HORIZON})",
        ),
        rows=rows,
    )


def measured(side: str, times: int) -> dict[str, float]:
    """Return the seconds, the memory and the mean R² of one side."""
    import numpy as np

    from farstep import evaluate, load_dataset
    from farstep.evaluation.rollout_errors import r_squared

    test = load_dataset(DATA).split().test
    model = paper_model()
    data = test.take(list(range(size(10, 1))) * times)
    function = {
        "r_squared": lambda episodes: r_squared(model.dynamics, episodes, HORIZON),
        "evaluate": lambda episodes: (
            evaluate(model, episodes, HORIZON, references=False).models[0].r2_dimensions[0]
        ),
        "numpy_loop": lambda episodes: _loop(*_numpy_step(model.dynamics), episodes),
        "pytorch_loop": lambda episodes: _loop(*_pytorch_step(model.dynamics), episodes),
    }[side]
    function(test.take([0]))
    Path("/proc/self/clear_refs").write_text("5")  # resets the highest so far
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


def _loop(step, as_input, episodes):
    """Return R²(j) of each dimension, all starts of all episodes at once."""
    import numpy as np

    observations = np.concatenate([e.observations[:-1] for e in episodes]).astype(np.float32)
    left = np.concatenate([np.arange(len(e.actions), 0, -1) for e in episodes])
    rows = np.concatenate([e.observations for e in episodes])
    first, action = (
        np.concatenate([o + np.arange(n) for o, n in zip(offsets, episodes.lengths, strict=False)])
        for offsets in (episodes.row_offsets, episodes.step_offsets)
    )
    current, found = as_input(observations), []
    for j in range(1, HORIZON + 1):
        here = np.minimum(action + j - 1, len(episodes.actions) - 1)
        current = step(current, as_input(episodes.actions[here].astype(np.float32)))
        inside = left >= j
        targets = rows[(first + j)[inside]]
        errors = np.square(targets - np.asarray(current)[inside]).sum(axis=0)
        found.append(1 - errors / np.square(targets - targets.mean(axis=0)).sum(axis=0))
    return np.stack(found)


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
    kinds = ("observation", "action", "target")
    names = [f"{kind}_{moment}" for kind in kinds for moment in ("mean", "std")]
    return layers, [np.asarray(getattr(dynamics.normalizer, name)) for name in names]


def _numpy_step(dynamics):
    import numpy as np

    layers, (sm, ss, am, as_, tm, ts) = _parts(dynamics)

    def step(observation, action):
        x = np.concatenate([(observation - sm) / ss, (action - am) / as_], axis=1)
        for weight, shift in layers[:-1]:
            x = np.tanh(x @ weight + shift)
        return observation + tm + ts * (x @ layers[-1][0] + layers[-1][1])

    return step, lambda values: values


def _pytorch_step(dynamics):
    import torch

    torch.set_num_threads(1)
    layers, normalizer = _parts(dynamics)
    layers = [(torch.tensor(weight), torch.tensor(shift)) for weight, shift in layers]
    sm, ss, am, as_, tm, ts = map(torch.tensor, normalizer)

    @torch.no_grad()
    def step(observation, action):
        x = torch.cat([(observation - sm) / ss, (action - am) / as_], dim=1)
        for weight, shift in layers[:-1]:
            x = torch.tanh(torch.addmm(shift, x, weight))
        return observation + tm + ts * torch.addmm(layers[-1][1], x, layers[-1][0])

    return step, torch.from_numpy
