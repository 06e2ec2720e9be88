"""Scaling: the statistics of the training data that a model carries inside."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.choices import Units
from farstep.episodes import Episodes


class Scaling(eqx.Module):
    """Means and standard deviations of states, actions and targets, and the states' range."""

    state_mean: Float[Array, " d"]
    state_std: Float[Array, " d"]
    action_mean: Float[Array, " k"]
    action_std: Float[Array, " k"]
    target_mean: Float[Array, " d"]
    target_std: Float[Array, " d"]
    state_low: Float[Array, " d"]
    state_high: Float[Array, " d"]

    @classmethod
    def of(cls, episodes: Episodes, target: str, stride: int) -> "Scaling":
        """Measure the training split; a dimension that never changes keeps its unit.

        Args:
            episodes: The training data.
            target: `next` or `delta`.
            stride: Steps from a state to its target. Actions are scaled alike at every step.
        """
        states, actions = episodes.states.astype(np.float64), episodes.actions.astype(np.float64)
        pairs = [
            (e.states[:-stride], e.states[stride:]) for e in episodes if len(e.actions) >= stride
        ]
        later = np.concatenate([after for _, after in pairs]).astype(np.float64)
        earlier = np.concatenate([before for before, _ in pairs]).astype(np.float64)
        targets = later - earlier if target == "delta" else later
        return cls(
            *_moments(states),
            *_moments(np.tile(actions, (1, stride))),
            *_moments(targets),
            state_low=jnp.asarray(states.min(axis=0), jnp.float32),
            state_high=jnp.asarray(states.max(axis=0), jnp.float32),
        )

    def unit(self, units: Units) -> Float[Array, " d"]:
        """Return what errors are measured in."""
        return self.state_std if units == "state" else self.target_std

    def inputs(
        self, state: Float[Array, "*batch d"], action: Float[Array, "*batch k"]
    ) -> Float[Array, "*batch d_plus_k"]:
        """Return state and action side by side, each with mean 0 and standard deviation 1."""
        return jnp.concatenate(
            [
                (state - self.state_mean) / self.state_std,
                (action - self.action_mean) / self.action_std,
            ],
            axis=-1,
        )


def deviation(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, to divide by: 1 of one that does not vary.

    The mean of equal numbers is not always the number, so that what is left is compared with them.
    """
    std = values.std(axis=0)
    return np.where(std > 1e-8 * np.abs(values).max(axis=0), std, 1.0)


def _moments(values: np.ndarray) -> tuple[Array, Array]:
    mean, std = values.mean(axis=0), deviation(values)
    return jnp.asarray(mean, jnp.float32), jnp.asarray(std, jnp.float32)
