"""How far the reward functions of Swimmer and HalfCheetah are from the simulator's rewards."""

import numpy as np

from benchmarks.harness import Result, size
from farstep import collect, get_system

EPISODES, SEED = size(10, 1), 0


def run() -> Result:
    return Result(
        how=f"{EPISODES} episodes of 1000 steps with uniformly random actions, seed {SEED}.",
        columns=(
            "system",
            "reward's standard deviation",
            "mean absolute error with the velocity before",
            "after",
            "the mean of both (used)",
            "its largest error",
            "its mean error",
            "largest error of a return",
            "returns",
        ),
        rows=[_row(name) for name in ("swimmer", "half-cheetah")],
    )


def _row(name: str) -> tuple[str, ...]:
    system = get_system(name)
    data = collect(system, "random", EPISODES, SEED)
    assert data.rewards is not None and data.returns is not None
    per_step = system.rewards_of(data) - data.rewards
    per_episode = np.add.reduceat(per_step, data.step_offsets[:-1])
    speed = data.signals.observation_names.index("x_velocity")
    change = np.concatenate([np.diff(episode.observations[:, speed]) for episode in data])
    return (
        name,
        f"{np.std(data.rewards):.3f}",
        f"{np.abs(per_step - change / 2).mean():.4f}",
        f"{np.abs(per_step + change / 2).mean():.4f}",
        f"{np.abs(per_step).mean():.4f}",
        f"{np.abs(per_step).max():.3f}",
        f"{per_step.mean():+.5f}",
        f"{np.abs(per_episode).max():.2f}",
        f"{data.returns.min():.1f} to {data.returns.max():.1f}",
    )
