"""A learned reward, scored like a state dimension: as one more column of the states."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.dynamics.contract import Dynamics, Gaussian, Memory
from farstep.dynamics.reward import RewardHead
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.scoring.errors import r_squared


class Rewarded(Dynamics):
    """A model whose last state dimension is the reward of the step that led to it."""

    dynamics: Dynamics
    head: RewardHead
    stride: int = eqx.field(static=True, default=1)

    def begin(self, key: PRNGKeyArray) -> Memory:
        """Return what the model itself starts with."""
        return self.dynamics.begin(key)

    def step(
        self, memory: Memory, state: Float[Array, " d"], action: Float[Array, " k"], key: Array
    ) -> tuple[Gaussian, Memory]:
        """Return the model's own step, and the reward of going there."""
        after, memory = self.dynamics.step(memory, state[:-1], action, key)
        return self._joined(state[:-1], action, after), memory

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the model's own prediction, and the reward of going there."""
        return self._joined(state[:-1], action, self.dynamics.predict(state[:-1], action))

    def _joined(self, state: Array, action: Array, after: Gaussian) -> Gaussian:
        reward = self.head(state, action, after.mean)
        return Gaussian(jnp.append(after.mean, reward), jnp.append(after.log_std, -jnp.inf))


def with_rewards(episodes: Episodes) -> Episodes:
    """Return the episodes with the reward that led to each state as its last column."""
    if episodes.rewards is None:
        raise FarstepError("the data have no rewards.")
    column = np.zeros((len(episodes.states), 1), episodes.states.dtype)
    after = np.delete(np.arange(len(column)), episodes.row_offsets[:-1])
    column[after, 0] = episodes.rewards
    signals = episodes.signals
    return replace(
        episodes,
        states=np.concatenate([episodes.states, column], axis=1),
        clean_states=None,
        signals=replace(
            signals,
            state_names=(*signals.state_names, _free_name(signals.state_names)),
            state_units=(*signals.state_units, ""),
        ),
    )


def _free_name(taken: Sequence[str]) -> str:
    """Return a name for the column that no state has."""
    name = "reward"
    while name in taken:
        name += "'"
    return name


def reward_r_squared(
    dynamics: Dynamics, head: RewardHead, episodes: Episodes, horizon: int
) -> Float[np.ndarray, " steps"]:
    """Return R² of the learned reward 1 to `horizon` steps ahead, along the model's own states."""
    joined = Rewarded(dynamics=dynamics, head=head)
    return r_squared(joined, with_rewards(episodes), horizon)[:, -1]
