"""A Gymnasium environment of one's own: a DC motor that turns a load, and shall hold a speed."""

from typing import Any

import gymnasium
import numpy as np


class Motor(gymnasium.Env[np.ndarray, np.ndarray]):
    """State: speed (rad/s) and current (A). Action: voltage (V). One step is 10 ms."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-12.0, 12.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start at any speed, without current."""
        super().reset(seed=seed, options=options)
        self._speed, self._current = self.np_random.uniform(-50.0, 50.0), 0.0
        return self._observed(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply a voltage for one step, in ten smaller ones."""
        for _ in range(10):
            drop = float(action[0]) - 1.2 * self._current - 0.08 * self._speed
            torque = 0.08 * self._current - 2e-4 * self._speed - 0.02 * np.tanh(self._speed)
            self._current += 1e-3 * drop / 0.01
            self._speed += 1e-3 * torque / 2e-4
        reward = 1.0 - abs(self._speed - 80.0) / 80.0
        return self._observed(), reward, False, False, {}

    def _observed(self) -> np.ndarray:
        return np.array([self._speed, self._current], np.float32)


gymnasium.register(id="Motor-v0", entry_point="motor_env:Motor", max_episode_steps=200)
