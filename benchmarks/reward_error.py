"""How far the rewards of Swimmer and HalfCheetah are from the simulator's."""

import jax
import numpy as np

from benchmarks.harness import Result
from farstep import collect, system

EPISODES, SEED = 10, 0


def run() -> Result:
    rows = []
    for name in ("swimmer", "half-cheetah"):
        chosen = system(name)
        data = collect(chosen, "random", EPISODES, SEED)
        assert chosen.reward is not None
        assert data.returns is not None
        function = jax.vmap(chosen.reward)
        errors = [
            np.asarray(function(e.states[:-1], e.actions, e.states[1:])) - e.rewards for e in data
        ]
        per_step = np.concatenate(errors)
        per_episode = np.array([error.sum() for error in errors])
        rows.append(
            (
                name,
                f"{np.std(data.rewards):.3f}",
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
            "mean absolute error",
            "largest error",
            "mean error",
            "largest error of a return",
            "returns",
        ),
        rows=rows,
    )
