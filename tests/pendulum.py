"""Data of a small system, made in NumPy, that a model learns in seconds."""

from typing import Any

import numpy as np

from farstep.episodes import Episode, Episodes

TINY: dict[str, Any] = {"config": "paper", "width": 16, "epochs": 3, "batch": 16, "dropout": 0.0}


def pendulum(episodes: int = 6, steps: int = 60, seed: int = 0) -> Episodes:
    """A damped pendulum with torque, integrated in NumPy: state (angle, velocity)."""
    rng = np.random.default_rng(seed)

    def one() -> Episode:
        states = [rng.uniform(-1, 1, size=2)]
        actions = rng.uniform(-1, 1, size=(steps, 1))
        for (torque,) in actions:
            angle, velocity = states[-1]
            velocity = velocity + 0.1 * (-4 * np.sin(angle) - 0.2 * velocity + 2 * torque)
            states.append(np.array([angle + 0.1 * velocity, velocity]))
        return Episode(np.stack(states).astype(np.float32), actions.astype(np.float32))

    return Episodes.from_list([one() for _ in range(episodes)])
