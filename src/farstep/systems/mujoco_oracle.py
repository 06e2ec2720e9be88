"""The oracle: MuJoCo itself, set to observed states and stepped with given actions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class MujocoOracle:
    """Rolls out many observed states at once, in MuJoCo's own compiled loop."""

    model: Any
    """A `mujoco.MjModel`."""
    substeps: int
    """Simulator steps in one control interval."""
    to_physics: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """States (n, d) → positions (n, nq) and velocities (n, nv)."""
    observe: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Positions (…, nq) and velocities (…, nv) → states (…, d)."""

    def __call__(
        self, states: Float[np.ndarray, "n d"], actions: Float[np.ndarray, "n h k"]
    ) -> Float[np.ndarray, "n h d"]:
        """Return the states that follow each of `states` under its h actions."""
        import mujoco
        from mujoco import rollout

        qpos, qvel = self.to_physics(np.asarray(states, np.float64))
        time = np.zeros((len(qpos), 1))
        start = np.concatenate([time, qpos, qvel], axis=1)
        control = np.repeat(np.asarray(actions, np.float64), self.substeps, axis=1)
        data = mujoco.MjData(self.model)  # pyright: ignore[reportAttributeAccessIssue]
        trace = np.asarray(rollout.rollout(self.model, data, start, control)[0])
        trace = trace[:, self.substeps - 1 :: self.substeps, 1:]  # without time
        qpos, qvel = trace[..., : self.model.nq], trace[..., self.model.nq :]
        return self.observe(qpos, qvel).astype(states.dtype)
