"""Normalizer: the statistics of the training data that a model carries inside."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.choices import LossScale
from farstep.data.episodes import Episodes


class Normalizer(eqx.Module):
    """Mean and standard deviation of observations, actions and targets; the observations' range."""

    observation_mean: Float[Array, " d"]
    observation_std: Float[Array, " d"]
    action_mean: Float[Array, " k"]
    action_std: Float[Array, " k"]
    target_mean: Float[Array, " d"]
    target_std: Float[Array, " d"]
    observation_low: Float[Array, " d"]
    observation_high: Float[Array, " d"]

    @classmethod
    def of(cls, episodes: Episodes, target: str, fixed_horizon: int) -> "Normalizer":
        """Measure the training data; a dimension that does not vary keeps its unit.

        Args:
            episodes: The training data.
            target: `next` or `delta`.
            fixed_horizon: Steps from an observation to its target. The actions of all these steps
                share one mean and standard deviation.
        """
        h = fixed_horizon
        observations = episodes.observations.astype(np.float64)
        actions = episodes.actions.astype(np.float64)
        long = [episode.observations for episode in episodes if len(episode.actions) >= h]
        later = np.concatenate([rows[h:] for rows in long]).astype(np.float64)
        earlier = np.concatenate([rows[:-h] for rows in long]).astype(np.float64)
        targets = later - earlier if target == "delta" else later
        return cls(
            *_moments(observations),
            *_moments(np.tile(actions, (1, h))),
            *_moments(targets),
            observation_low=jnp.asarray(observations.min(axis=0), jnp.float32),
            observation_high=jnp.asarray(observations.max(axis=0), jnp.float32),
        )

    def loss_scale(self, scale: LossScale) -> Float[Array, " d"]:
        """Return the standard deviations that errors are divided by."""
        return self.observation_std if scale == "observation" else self.target_std

    def inputs(
        self, state: Float[Array, "*batch d"], action: Float[Array, "*batch k"]
    ) -> Float[Array, "*batch d_plus_k"]:
        """Concatenate state and action, each with mean 0 and standard deviation 1."""
        return jnp.concatenate(
            [
                (state - self.observation_mean) / self.observation_std,
                (action - self.action_mean) / self.action_std,
            ],
            axis=-1,
        )


def deviation(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column; 1 for a column that does not vary.

    The mean of equal numbers is not always the number itself. So the deviation is compared with
    the numbers, not with zero.
    """
    std = values.std(axis=0)
    return np.where(std > 1e-8 * np.abs(values).max(axis=0), std, 1.0)


def _moments(values: np.ndarray) -> tuple[Array, Array]:
    mean, std = values.mean(axis=0), deviation(values)
    return jnp.asarray(mean, jnp.float32), jnp.asarray(std, jnp.float32)
