"""The model environment for Gymnasium: an `Env` and a `VectorEnv`, stepped in compiled calls."""

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, UInt32

from farstep.errors import FarstepError
from farstep.model_env.pure_env import EnvState, PureEnv
from farstep.settings import check_counts, native

SEEDS = 2**31
"""Seeds of environments are below it."""
_DISTANCE_EVERY = 17
"""Steps between measurements of the distance, which cost half a step. A prime number, so that they
do not always hit the starts of short episodes."""


class BatchStep(NamedTuple):
    """The results of one step as NumPy arrays."""

    observations: np.ndarray
    """Of the next step: of a new episode where one ended."""
    final_observations: np.ndarray
    """Of this step, also where the episode ended."""
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    out_of_bounds: np.ndarray
    not_finite: np.ndarray

    @property
    def done(self) -> np.ndarray:
        """Which episodes ended."""
        return self.terminated | self.truncated


class BatchStepper:
    """The state of some environments, and counts of what happened in them."""

    def __init__(self, env: PureEnv, num_envs: int, restart: bool) -> None:
        """Prepare the environments; `restart` starts a new episode in the step that ends one."""
        check_counts({"num_envs": 1}, {"num_envs": native(num_envs)})
        self.env, self.num_envs = env, int(num_envs)
        signals = env.signals
        self.action_low, self.action_high = (
            np.asarray(bound, np.float32) for bound in (signals.action_low, signals.action_high)
        )
        low, high = np.asarray(env.bounds.low), np.asarray(env.bounds.high)
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.action_space = gymnasium.spaces.Box(self.action_low, self.action_high)
        self._leaves, treedef = jax.tree.flatten(env)
        self._step = compiled_step(treedef, restart)
        self._states: EnvState | None = None
        self._phase = 0
        self._clear()

    def reset(self, seeds: Sequence[int]) -> np.ndarray:
        """Start all environments, each from its own seed, and return their observations."""
        if len(seeds) != self.num_envs:
            raise FarstepError(f"seed must have {self.num_envs} values, not {len(seeds)}.")
        # Seeds of any size: the words of NumPy's seed sequence make the key.
        words = [np.random.SeedSequence(seed).generate_state(2) for seed in seeds]
        self._words = jnp.asarray(np.stack(words))
        self._number = 0
        states = self._states = _reset(self.env, self._words)
        return np.array(states.observation)

    def step(self, actions: np.ndarray) -> BatchStep:
        """Apply an action in each environment; actions are clipped to their bounds."""
        if self._states is None:
            raise FarstepError("call reset before step.")
        expected, given = (self.num_envs, len(self.action_low)), np.asarray(actions)
        if given.shape != expected or given.dtype.kind not in "fiu":
            raise FarstepError(
                f"actions must be numbers of shape {expected}, not {given.dtype} of {given.shape}."
            )
        clipped = np.clip(given.astype(np.float32), self.action_low, self.action_high)
        self._number += 1
        self._states, packed = self._step(
            self._leaves, self._states, clipped, self._words, self._number, self._phase
        )
        self._phase = (self._phase + 1) % _DISTANCE_EVERY
        numbers, d = np.asarray(packed), self.env.signals.num_observations
        flags = numbers[:, 2 * d + 1 : 2 * d + 5] != 0
        step = BatchStep(
            numbers[:, :d].copy(), numbers[:, d : 2 * d], numbers[:, 2 * d].copy(), *flags.T
        )
        self._steps += self.num_envs
        self._out_of_bounds += int(step.out_of_bounds.sum())
        self._not_finite += int(step.not_finite.sum())
        if math.isfinite(distance := float(numbers[0, -1])):
            self._distance += distance
            self._distances += 1
        return step

    def report(self, clear: bool = False) -> dict[str, float]:
        """Return counts since the start, or since they were cleared.

        `out_of_bounds` is the share of steps that left the bounds, `not_finite` the number of
        steps without a finite state. `data_distance` is the mean distance to the nearest data, of
        up to 8 environments in every 17th step; 1 is typical of the data.
        """
        counts = {
            "steps": float(self._steps),
            "out_of_bounds": self._out_of_bounds / max(self._steps, 1),
            "not_finite": float(self._not_finite),
            "data_distance": self._distance / self._distances if self._distances else math.nan,
        }
        if clear:
            self._clear()
        return counts

    def _clear(self) -> None:
        self._steps = self._out_of_bounds = self._not_finite = self._distances = 0
        self._distance = 0.0


@jax.jit
def _reset(env: PureEnv, words: UInt32[Array, "n 2"]) -> EnvState:
    # Steps count from 1, so that none uses the key of a start.
    start = partial(jax.random.fold_in, data=0)
    return jax.vmap(lambda key: env.reset(start(key)))(jax.random.wrap_key_data(words))


@lru_cache
def compiled_step(treedef: Any, restart: bool) -> Any:
    """Return the compiled step of all environments of one structure.

    It takes the environment's arrays as a list and keys as words, which cost less to pass than
    modules and typed keys. It returns one array, since each array costs a transfer.
    """

    @partial(jax.jit, donate_argnums=1)
    def step(
        leaves: list[Array],
        states: EnvState,
        actions: Array,
        words: Array,
        number: Array,
        phase: Array,
    ) -> tuple[EnvState, Array]:
        env: PureEnv = jax.tree.unflatten(treedef, leaves)
        keys = jax.random.wrap_key_data(words)
        moved, done = env.step_all(states, actions, keys, number, restart)
        flags = (done.terminated, done.truncated, done.out_of_bounds, done.not_finite)
        distance = jax.lax.cond(
            phase == 0,
            lambda: env.mean_data_distance(states.state, actions),
            lambda: jnp.full((), jnp.nan),
        )
        columns = (done.reward, *flags, jnp.full(len(actions), distance))
        numbers = [moved.observation, done.observation, *(column[:, None] for column in columns)]
        return moved, jnp.concatenate([part.astype(jnp.float32) for part in numbers], axis=1)

    return step


class ModelGymnasiumEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One model environment."""

    metadata = {"render_modes": []}  # noqa: RUF012  as Gymnasium declares it

    def __init__(self, env: PureEnv) -> None:
        self._stepper = BatchStepper(env, 1, restart=False)
        self.report = self._stepper.report
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
            step.observations[0],
            float(step.rewards[0]),
            bool(step.terminated[0]),
            bool(step.truncated[0]),
            {"out_of_bounds": bool(step.out_of_bounds[0]), "not_finite": bool(step.not_finite[0])},
        )


class ModelVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many model environments, stepped in one compiled call.

    The step that ends an episode starts a new one (`AutoresetMode.SAME_STEP`). The last observation
    of the old one is in `infos["final_obs"]`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, env: PureEnv, num_envs: int) -> None:
        self._stepper = BatchStepper(env, num_envs, restart=True)
        self.report = self._stepper.report
        self.num_envs = num_envs
        self.single_observation_space = self._stepper.observation_space
        self.single_action_space = self._stepper.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = None

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all environments; of a single seed, environment i gets `seed + i`."""
        if options and "reset_mask" in options:
            raise FarstepError("reset_mask is not supported: environments reset automatically.")
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
        """Apply an action in each environment."""
        step = self._stepper.step(actions)
        infos: dict[str, Any] = {}
        for name in ("out_of_bounds", "not_finite"):
            infos[name] = getattr(step, name)
            infos[f"_{name}"] = np.ones(self.num_envs, bool)
        if step.done.any():
            final = np.full(self.num_envs, None, object)
            for number in np.flatnonzero(step.done):
                final[number] = step.final_observations[number]
            infos |= {"final_obs": final, "_final_obs": step.done}
            infos |= {"final_info": dict(infos), "_final_info": step.done}
        rewards = step.rewards.astype(np.float64)
        return step.observations, rewards, step.terminated, step.truncated, infos
