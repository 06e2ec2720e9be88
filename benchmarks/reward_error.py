"""How far the rewards of Swimmer and HalfCheetah are from the simulator's."""

import numpy as np

from benchmarks.harness import Result
from farstep import collect, system

EPISODES, SEED = 10, 0


def run() -> Result:
    rows = []
    for name in ("swimmer", "half-cheetah"):
        chosen = system(name)
        data = collect(chosen, "random", EPISODES, SEED)
        assert data.rewards is not None
        assert data.returns is not None
        per_step = chosen.rewards_of(data) - data.rewards
        per_episode = np.add.reduceat(per_step, data.step_offsets[:-1])
        speed = data.signals.state_names.index("x_velocity")
        change = np.concatenate([np.diff(episode.states[:, speed]) for episode in data])
        rows.append(
            (
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
        )
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
        rows=rows,
    )
