"""The model environment for Stable-Baselines3: a `VecEnv`."""

from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from farstep.errors import FarstepError
from farstep.model_env.gymnasium_env import SEEDS, BatchStepper
from farstep.model_env.pure_env import PureEnv


class ModelSB3VecEnv(VecEnv):
    """Many model environments in one compiled call; the end of an episode starts a new one."""

    def __init__(self, env: PureEnv, num_envs: int) -> None:
        self._stepper = BatchStepper(env, num_envs, restart=True)
        self.report = self._stepper.report
        self._rng = np.random.default_rng()
        self._actions = np.zeros((num_envs, *self._stepper.action_space.shape))
        self._episode_returns = np.zeros(num_envs)
        self._episode_steps = np.zeros(num_envs, int)
        super().__init__(num_envs, self._stepper.observation_space, self._stepper.action_space)

    def reset(self) -> np.ndarray:
        """Start all environments, from the seeds that `seed` set or from new ones."""
        given = [seed for seed in self._seeds if seed is not None]
        if given:  # later resets draw from it, as in Stable-Baselines3's own
            self._rng = np.random.default_rng(given)
        fresh = self._rng.integers(SEEDS, size=self.num_envs).tolist()
        seeds = [new if s is None else s for s, new in zip(self._seeds, fresh, strict=True)]
        self._reset_seeds()
        self._reset_options()
        self._episode_returns[:] = self._episode_steps[:] = 0
        return self._stepper.reset(seeds)

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Apply the stored actions."""
        step = self._stepper.step(self._actions)
        done = step.done
        self._episode_returns += step.rewards
        self._episode_steps += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for number in np.flatnonzero(done):
            infos[number] = {
                "terminal_observation": step.final_observations[number],
                "TimeLimit.truncated": not bool(step.terminated[number]),
                "episode": {  # as Stable-Baselines3's Monitor records it
                    "r": float(self._episode_returns[number]),
                    "l": int(self._episode_steps[number]),
                },
            }
        self._episode_returns[done] = 0.0
        self._episode_steps[done] = 0
        return step.observations, step.rewards, done, infos

    def close(self) -> None:
        """Do nothing."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute, once for each environment: they share all."""
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: model environments have no attributes of their own."""
        del value, indices
        raise FarstepError(f"'{attr_name}' cannot be set on a model environment.")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Refuse: model environments have no methods of their own."""
        del method_args, indices, method_kwargs
        raise FarstepError(f"a model environment has no method '{method_name}'.")

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return False for each: nothing wraps a model environment."""
        del wrapper_class
        return [False for _ in self._get_indices(indices)]
