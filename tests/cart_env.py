"""The cart of `cart.py` as a Gymnasium environment: a real system that is run in no time."""

import dataclasses
from typing import Any

import gymnasium
import numpy as np

import cart


class CartEnv(gymnasium.Env):
    """Starts near a position of one; 20 steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None):
        del options
        super().reset(seed=seed)
        self._state = np.array([1.0, 0.0]) + 0.1 * self.np_random.normal(size=2)
        return self._state.astype(np.float32), {}

    def step(self, action: np.ndarray):
        self._state = cart.A @ self._state + cart.B @ action
        reward = -(self._state[0] ** 2) - 0.1 * action[0] ** 2
        ended = bool(abs(self._state[0]) > 5)
        return self._state.astype(np.float32), float(reward), ended, False, {}


class Failing(gymnasium.Env):
    """Every second episode fails at step 9, every third returns NaN at step 7."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 1.0, (1,), np.float32)
    episodes = 0

    def reset(self, *, seed: int | None = None, options: Any = None):
        super().reset(seed=seed, options=options)
        Failing.episodes += 1
        self._number, self._steps = Failing.episodes, 0
        return np.zeros(2, np.float32), {}

    def step(self, action: np.ndarray):
        del action
        self._steps += 1
        observation = np.array([self._steps**2 / 100, np.sin(self._steps)], np.float32)
        if self._steps == 9 and self._number % 2 == 0:
            raise OSError("the motor is on fire")
        if self._steps == 7 and self._number % 3 == 0:
            observation[0] = np.nan
        return observation, 1.0, False, self._steps == 20, {}


class Stuck(Failing):
    """Begins once, and cannot be closed afterwards."""

    def reset(self, *, seed: int | None = None, options: Any = None):
        if Failing.episodes == 2:
            raise OSError("the brake is on")
        return super().reset(seed=seed, options=options)

    def close(self):
        if hasattr(self, "_number"):
            raise OSError("the port is gone")


class Dead(Failing):
    """Never makes a step."""

    def step(self, action: np.ndarray):
        del action
        raise OSError("no power")


for name in ("CartEnv", "Failing", "Stuck", "Dead"):
    gymnasium.register(f"{name}-v0", f"cart_env:{name}", max_episode_steps=20)
SYSTEM = dataclasses.replace(cart.CART, env_id="CartEnv-v0")
LOGGED = dataclasses.replace(cart.CART, env_id=None)
FAILING, STUCK, DEAD = (
    dataclasses.replace(cart.CART, env_id=f"{name}-v0") for name in ("Failing", "Stuck", "Dead")
)
