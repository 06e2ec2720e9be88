"""The learned model as an environment of pure functions: reset, step, reward, terminated."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from farstep.choices import InitialStatesFrom, Propagation, Uncertainty
from farstep.data.episodes import Episodes
from farstep.data.signals import Signals
from farstep.model_env.out_of_bounds import Bounds, DataDistance, leaving_reward
from farstep.model_env.reward import RewardFunction, RewardStatistics, uncertainty
from farstep.models.contract import Carry, Dynamics, Gaussian
from farstep.models.network_dynamics import project_angles
from farstep.models.rollout import advance
from farstep.runtime.compilation import room_for
from farstep.systems.system import Reset, Terminated

_SENSORS = 2
"""Folded into a step's key for the observation noise; the step itself uses other numbers."""
_WATCHED = 8
"""Environments, at most, whose distance from the data is measured."""


class InitialStates(eqx.Module):
    """Recorded observations to draw from, in an array with room for more."""

    observations: Float[Array, "capacity d"]
    count: Int[Array, ""]
    """Rows that are observations; the rows after them are zero and are never drawn."""

    @classmethod
    def of(cls, data: Episodes, source: InitialStatesFrom = "first") -> "InitialStates":
        """Take the `first` observation of every episode, or `any` that is not the end of a task."""
        if source == "first":
            found = data.observations[data.row_offsets[:-1]]
        else:
            ends = data.row_offsets[1:][data.terminated] - 1
            found = np.delete(data.observations, ends, axis=0)
        padded = np.pad(found, ((0, room_for(len(found)) - len(found)), (0, 0)))
        return cls(jnp.asarray(padded, jnp.float32), jnp.array(len(found), jnp.int32))

    def draw(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        """Return one of them, each with the same probability."""
        return self.observations[jax.random.randint(key, (), 0, self.count)]


class EnvState(NamedTuple):
    """What one environment hands from step to step."""

    state: Float[Array, "*n d"]
    observation: Float[Array, "*n d"]
    """The state with the observation noise; agents act on it."""
    carry: Carry
    """What the model carries through a rollout, such as the ensemble member of this episode."""
    steps: Int[Array, "*n"]
    """Of this episode."""


class EnvStep(NamedTuple):
    """The result of one step."""

    state: Float[Array, "*n d"]
    """The next state, also where the episode ends with it."""
    observation: Float[Array, "*n d"]
    reward: Float[Array, "*n"]
    terminated: Bool[Array, "*n"]
    truncated: Bool[Array, "*n"]
    out_of_bounds: Bool[Array, "*n"]
    """Whether the model left the bounds by more than 1 % of their width."""
    not_finite: Bool[Array, "*n"]
    """Whether the model's next state or reward was not finite. The episode ends where it was."""

    @property
    def done(self) -> Bool[Array, "*n"]:
        """Whether the episode ends."""
        return self.terminated | self.truncated


class PureEnv(eqx.Module):
    """A model as an environment: a pytree of one environment. `jax.vmap` makes many of it."""

    dynamics: Dynamics
    reward_function: RewardFunction
    """Known or learned, without the penalty."""
    initial_states: InitialStates | None
    """States that episodes start from; None draws from `reset_function`."""
    bounds: Bounds
    observation_mean: Float[Array, " d"]
    observation_std: Float[Array, " d"]
    """Uncertainty is measured in it."""
    rewards: RewardStatistics
    """Of the data: they set the reward of a step that leaves the bounds or is not finite."""
    data_distance: DataDistance | None
    terminated: Terminated = eqx.field(static=True)
    """(state, action, next state) → whether the next state ends the task."""
    reset_function: Reset | None = eqx.field(static=True)
    signals: Signals = eqx.field(static=True)
    angles: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """(cosine, sine) pairs of the state, which are projected onto the circle."""
    max_episode_steps: int = eqx.field(static=True)
    propagation: Propagation = eqx.field(static=True)
    observation_noise: float = eqx.field(static=True)
    """In standard deviations that the model predicts one step ahead."""
    uncertainty_penalty: float = eqx.field(static=True)
    uncertainty_kind: Uncertainty = eqx.field(static=True)

    def reset(self, key: PRNGKeyArray) -> EnvState:
        """Start an episode."""
        start_key, carry_key = jax.random.split(key)
        if self.initial_states is None:
            assert self.reset_function is not None
            state = self.reset_function(start_key)
        else:
            state = self.initial_states.draw(start_key)
        start, carry = self.bounds.clip(state), self.dynamics.initial_carry(carry_key)
        return EnvState(start, start, carry, jnp.zeros((), jnp.int32))

    def step(
        self, env_state: EnvState, action: Float[Array, " k"], key: PRNGKeyArray
    ) -> tuple[EnvState, EnvStep]:
        """Apply an action. The caller resets after the end of an episode.

        Where the model's next state or reward is not finite, the state stays as it was. The
        episode is truncated there at the data's lowest reward, or terminated as out of bounds.
        """
        before = env_state.state
        state, predicted, carry = advance(
            self.dynamics.step, env_state.carry, before, action, key, self.propagation
        )
        state = project_angles(state, self.angles)
        reward = self.reward(before, action, self.bounds.clip(state))
        finite = jnp.isfinite(state).all() & jnp.isfinite(reward)
        state = jnp.where(finite, state, before)
        inside = self.bounds.clip(state)
        observation = self._observe(inside, predicted, key)
        steps = env_state.steps + 1
        out_of_bounds = self.bounds.violated(state, inside)
        left = self.bounds.terminates & (out_of_bounds | ~finite)
        loss = leaving_reward(self.rewards.lowest, self.penalty(before, action))
        step = EnvStep(
            state=inside,
            observation=observation,
            reward=jnp.where(left, loss, jnp.where(finite, reward, self.rewards.lowest)),
            terminated=left | (finite & self.terminated(before, action, inside)),
            truncated=(~finite & ~left) | (steps >= self.max_episode_steps),
            out_of_bounds=out_of_bounds,
            not_finite=~finite,
        )
        return EnvState(inside, observation, carry, steps), step

    def step_all(
        self,
        env_states: EnvState,
        actions: Float[Array, "n k"],
        keys: Key[Array, " n"],
        number: Int[Array, ""],
        restart: bool = True,
    ) -> tuple[EnvState, EnvStep]:
        """Apply an action in each of many environments; `restart` those whose episodes end.

        Args:
            env_states: Where the environments are.
            actions: One for each.
            keys: One key for each, the same in every step.
            number: Of the step, which is folded into the keys.
            restart: Whether to start a new episode where one ends. Initial states are drawn only
                in steps that end an episode, since they cost as much as the step.
        """

        def keys_for(purpose: int) -> Key[Array, " n"]:
            fold = jax.random.fold_in
            return jax.vmap(lambda key: fold(fold(key, number), purpose))(keys)

        def select(first: Bool[Array, ""], one: EnvState, other: EnvState) -> EnvState:
            return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)

        def restarted() -> EnvState:
            return jax.vmap(select)(step.done, jax.vmap(self.reset)(keys_for(1)), moved)

        moved, step = jax.vmap(self.step)(env_states, actions, keys_for(0))
        if not restart:
            return moved, step
        return jax.lax.cond(step.done.any(), restarted, lambda: moved), step

    def reward(
        self, state: Float[Array, " d"], action: Float[Array, " k"], next_state: Float[Array, " d"]
    ) -> Float[Array, ""]:
        """Return the reward of a step, less the uncertainty penalty."""
        return self.reward_function(state, action, next_state) - self.penalty(state, action)

    def penalty(
        self, state: Float[Array, " d"], action: Float[Array, " k"]
    ) -> Float[Array, ""] | float:
        """Return weight · uncertainty in units of the range of the data's rewards, at most that.

        A larger penalty would dominate what the critics learn. An uncertainty that is not finite
        counts as the largest.
        """
        if not self.uncertainty_penalty:
            return 0.0
        kind, scale = self.uncertainty_kind, self.observation_std
        uncertain = uncertainty(self.dynamics, state, action, scale, kind)
        share = self.uncertainty_penalty * uncertain
        return self.rewards.range * jnp.where(jnp.isfinite(share), jnp.minimum(share, 1.0), 1.0)

    def mean_data_distance(
        self, states: Float[Array, "n d"], actions: Float[Array, "n k"]
    ) -> Float[Array, ""]:
        """Return the mean distance from the data, of up to 8 environments; NaN without data."""
        if self.data_distance is None:
            return jnp.full((), jnp.nan)
        return jax.vmap(self.data_distance)(states[:_WATCHED], actions[:_WATCHED]).mean()

    def _observe(
        self, state: Float[Array, " d"], predicted: Gaussian, key: PRNGKeyArray
    ) -> Float[Array, " d"]:
        """Return the state with the observation noise."""
        if not self.observation_noise:
            return state
        drawn = jax.random.normal(jax.random.fold_in(key, _SENSORS), state.shape)
        noisy = state + self.observation_noise * jnp.exp(predicted.log_std) * drawn
        return self.bounds.clip(jnp.where(jnp.isfinite(noisy), noisy, state))
