"""The oracle: MuJoCo itself, set to recorded observations and stepped with given actions."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class MujocoOracle:
    """Rolls out many recorded observations at once, in MuJoCo's own compiled loop."""

    model: Any
    """A `mujoco.MjModel`."""
    substeps: int
    """Simulator steps in one control interval."""
    to_physics: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Observations (n, d) → positions (n, nq) and velocities (n, nv)."""
    observe: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Positions (…, nq) and velocities (…, nv) → observations (…, d)."""

    def __call__(
        self, observations: Float[np.ndarray, "n d"], actions: Float[np.ndarray, "n h k"]
    ) -> Float[np.ndarray, "n h d"]:
        """Return the observations that follow each of `observations` under its h actions."""
        import mujoco
        from mujoco import rollout

        qpos, qvel = self.to_physics(np.asarray(observations, np.float64))
        time = np.zeros((len(qpos), 1))
        start = np.concatenate([time, qpos, qvel], axis=1)
        control = np.repeat(np.asarray(actions, np.float64), self.substeps, axis=1)
        data = mujoco.MjData(self.model)  # pyright: ignore[reportAttributeAccessIssue]
        trace = np.asarray(rollout.rollout(self.model, data, start, control)[0])
        trace = trace[:, self.substeps - 1 :: self.substeps, 1:]  # without time
        qpos, qvel = trace[..., : self.model.nq], trace[..., self.model.nq :]
        return self.observe(qpos, qvel).astype(observations.dtype)


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to the logger `farstep.mujoco`, at level INFO.

    Without this it prints them and appends them to MUJOCO_LOG.TXT in the current directory.
    """
    import mujoco

    logger = logging.getLogger("farstep.mujoco")
    mujoco.set_mju_user_warning(logger.info)  # pyright: ignore[reportAttributeAccessIssue]
