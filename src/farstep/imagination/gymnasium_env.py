"""An imagined system as a Gymnasium environment, one or many."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from farstep.errors import FarstepError
from farstep.imagination.stepping import SEEDS, Stepper
from farstep.imagination.world import World


class ImaginedEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One imagined system."""

    metadata = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(self, world: World) -> None:
        self._stepper = Stepper(world, 1, restart=False)
        self.observation_space = self._stepper.observation_space
        self.action_space = self._stepper.action_space
        self.render_mode = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        return self._stepper.reset([int(self.np_random.integers(SEEDS))])[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action."""
        step = self._stepper.step(np.asarray(action)[None])
        return (
            step.states[0],
            float(step.reward[0]),
            bool(step.terminated[0]),
            bool(step.truncated[0]),
            {"bounded": bool(step.bounded[0]), "not_finite": bool(step.not_finite[0])},
        )

    def report(self, clear: bool = False) -> dict[str, float]:
        """Return how often bounds acted, and how far from the data it went; `clear` starts anew."""
        return self._stepper.report(clear)


class ImaginedVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many imagined systems, stepped in one compiled call.

    An episode that ends is followed by a new one in the same step; its last state is in
    `infos["final_obs"]`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, world: World, num_envs: int) -> None:
        self._stepper = Stepper(world, num_envs, restart=True)
        self.num_envs = num_envs
        self.single_observation_space = self._stepper.observation_space
        self.single_action_space = self._stepper.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all systems; a single seed is that of the first, and they count up from it."""
        if options and "reset_mask" in options:
            raise FarstepError("imagined systems start anew by themselves; leave out reset_mask.")
        if seed is None:
            seeds = self.np_random.integers(SEEDS, size=self.num_envs).tolist()
        elif isinstance(seed, Sequence):
            seeds = list(seed)
            self._np_random = np.random.default_rng(seeds)
        else:
            super().reset(seed=int(seed), options=options)
            seeds = [int(seed) + number for number in range(self.num_envs)]
        return self._stepper.reset(seeds), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply an action to each."""
        step = self._stepper.step(actions)
        infos: dict[str, Any] = {}
        for name in ("bounded", "not_finite"):
            infos[name] = getattr(step, name)
            infos[f"_{name}"] = np.ones(self.num_envs, bool)
        if step.done.any():
            final = np.full(self.num_envs, None, object)
            for number in np.flatnonzero(step.done):
                final[number] = step.final[number]
            infos |= {"final_obs": final, "_final_obs": step.done}
            infos |= {"final_info": dict(infos), "_final_info": step.done}
        return step.states, step.reward.astype(np.float64), step.terminated, step.truncated, infos

    def report(self, clear: bool = False) -> dict[str, float]:
        """Return how often bounds acted, and how far from the data it went; `clear` starts anew."""
        return self._stepper.report(clear)
