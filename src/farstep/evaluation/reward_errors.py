"""R² of a learned reward: the reward becomes one more column of the observations."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.evaluation.rollout_errors import r_squared
from farstep.models.contract import Carry, Dynamics, Gaussian
from farstep.models.reward import RewardHead


class Rewarded(Dynamics):
    """A model whose state has one more dimension: the reward of the step that led to it."""

    dynamics: Dynamics
    head: RewardHead
    fixed_horizon: int = eqx.field(static=True, default=1)

    def initial_carry(self, key: PRNGKeyArray) -> Carry:
        """Return the initial carry of the model itself."""
        return self.dynamics.initial_carry(key)

    def step(
        self,
        carry: Carry,
        state: Float[Array, " d"],
        action: Float[Array, " k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, Carry]:
        """Return the model's own step, with the reward of that step."""
        after, carry = self.dynamics.step(carry, state[:-1], action, key)
        return self._with_reward(state[:-1], action, after), carry

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the model's own prediction, with the reward of that step."""
        return self._with_reward(state[:-1], action, self.dynamics.predict(state[:-1], action))

    def _with_reward(self, state: Array, action: Array, after: Gaussian) -> Gaussian:
        reward = self.head(state, action, after.mean)
        return Gaussian(jnp.append(after.mean, reward), jnp.append(after.log_std, -jnp.inf))


def with_rewards(episodes: Episodes) -> Episodes:
    """Return the episodes with the reward that led to each observation as their last column."""
    if episodes.rewards is None:
        raise FarstepError("episodes must have rewards; these have none.")
    column = np.zeros((len(episodes.observations), 1), episodes.observations.dtype)
    after = np.delete(np.arange(len(column)), episodes.row_offsets[:-1])
    column[after, 0] = episodes.rewards
    signals = episodes.signals
    return replace(
        episodes,
        observations=np.concatenate([episodes.observations, column], axis=1),
        clean_observations=None,
        signals=replace(
            signals,
            observation_names=(*signals.observation_names, _free_name(signals.observation_names)),
            observation_units=(*signals.observation_units, ""),
        ),
    )


def _free_name(taken: Sequence[str]) -> str:
    """Return a column name that no observation has."""
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
