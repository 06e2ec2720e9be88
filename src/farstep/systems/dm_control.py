"""Tasks of the DeepMind Control Suite as Gymnasium environments, with observation noise."""

import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from farstep.errors import FarstepError


def load_task(domain: str, task: str, random: np.random.RandomState | None = None) -> Any:
    """Return a task of the suite as a `dm_control.rl.control.Environment` with no time limit."""
    with warnings.catch_warnings():
        # Without a display, dm_control's search for a renderer warns; nothing is rendered here.
        warnings.simplefilter("ignore")
        from dm_control import suite

    return suite.load(domain, task, task_kwargs={"random": random, "time_limit": float("inf")})


class DmControlEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One task with its observations joined into one float32 vector.

    The task's own time limit is off: Gymnasium's `TimeLimit` ends the episodes.

    With `observation_noise`, each variable gets independent Gaussian noise of this share of its
    range. The simulator's state and the reward stay noiseless, and `info["clean_observation"]`
    holds the observation without noise.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        domain: str,
        task: str,
        observation_noise: float = 0.0,
        ranges: Sequence[float] = (),
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise FarstepError("render_mode must be None: this environment does not render.")
        if not observation_noise >= 0.0:
            raise FarstepError(
                f"observation_noise must be 0 or more (0.01 is 1 % of each variable's range), not "
                f"{observation_noise}."
            )
        self._random = np.random.RandomState()
        self._task = load_task(domain, task, self._random)
        shapes = self._task.observation_spec().values()
        size = sum(int(np.prod(spec.shape)) for spec in shapes)
        if observation_noise and len(ranges) != size:
            raise FarstepError(f"observation_noise needs {size} ranges, not {ranges}.")
        self._noise_std = observation_noise * np.asarray(ranges) if observation_noise else None
        action = self._task.action_spec()
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(
            action.minimum.astype(np.float32), action.maximum.astype(np.float32), dtype=np.float32
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; the noise and the simulator have generators of their own."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._random.seed(seed % 2**32)
        return self._observe(self._task.reset().observation)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action for one control interval."""
        step = self._task.step(np.asarray(action, np.float64))
        observation, info = self._observe(step.observation)
        terminated = step.last() and step.discount == 0.0
        return observation, float(step.reward), bool(terminated), False, info

    def _observe(self, parts: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, Any]]:
        clean = np.concatenate([np.ravel(part) for part in parts.values()])
        if self._noise_std is None:
            return clean.astype(np.float32), {}
        noisy = clean + self._noise_std * self.np_random.standard_normal(len(clean))
        return noisy.astype(np.float32), {"clean_observation": clean.astype(np.float32)}
