"""What happens where a rollout leaves the data: bounds, the loss of leaving, data distance."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from farstep.choices import OutOfBounds
from farstep.data.episodes import Episodes
from farstep.models.model import Model
from farstep.models.normalizer import deviation

_TOLERANCE = 0.01
"""Share of the bounds' width."""
_LOST_STEPS = 200
"""Steps at the lowest reward that leaving costs: 1 / (1 − γ) for γ = 0.995."""
_POINTS = 1024
"""Recorded points that distances are measured to."""


class ObservationStatistics(NamedTuple):
    """Range, means and standard deviations of the training observations."""

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, model: Model, data: Episodes | None) -> "ObservationStatistics | None":
        """Measure the data; without data return what the model stores, or None."""
        if data is not None:
            observations = data.observations.astype(np.float64)
            low, high = observations.min(axis=0), observations.max(axis=0)
            return cls(low, high, observations.mean(axis=0), deviation(observations))
        if (normalizer := model.normalizer) is None:
            return None
        stored = (normalizer.observation_low, normalizer.observation_high,
                  normalizer.observation_mean, normalizer.observation_std)  # fmt: skip
        return cls(*map(np.asarray, stored))

    @classmethod
    def unknown(cls, dimensions: int) -> "ObservationStatistics":
        """Return zero means and unit standard deviations."""
        zeros = np.zeros(dimensions)
        return cls(zeros, zeros, zeros, np.ones(dimensions))


class Bounds(eqx.Module):
    """The box that states stay in: a state outside is clipped, or terminates the episode."""

    low: Float[Array, " d"]
    high: Float[Array, " d"]
    tolerance: Float[Array, " d"]
    """Smaller violations are clipped and not counted."""
    terminates: bool = eqx.field(static=True)

    @classmethod
    def of(
        cls, statistics: ObservationStatistics, margin: float | None, rule: OutOfBounds
    ) -> "Bounds":
        """Return the range of the observations, widened by a share of it; None for no bounds."""
        low, high, _, std = statistics
        width = np.inf if margin is None else margin * (high - low)
        low, high, std = (jnp.asarray(v, jnp.float32) for v in (low - width, high + width, std))
        # The standard deviation of a constant dimension is 1, its width 0.
        tolerance = _TOLERANCE * jnp.maximum(high - low, std)
        return cls(low, high, tolerance, terminates=rule == "terminate")

    def clip(self, state: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the nearest state within the bounds."""
        return jnp.clip(state, self.low, self.high)

    def violated(self, state: Float[Array, " d"], clipped: Float[Array, " d"]) -> Bool[Array, ""]:
        """Return whether clipping moved a state by more than the tolerance."""
        return (jnp.abs(clipped - state) > self.tolerance).any()


def leaving_reward(lowest: Float[Array, ""], penalty: Array | float) -> Float[Array, ""]:
    """Return the reward of a step that terminates an episode out of bounds.

    It is that of 200 steps at the data's lowest reward (0 if that is positive) and at the step's
    uncertainty penalty. A smaller loss would make leaving an escape from bad rewards.
    """
    return _LOST_STEPS * (jnp.minimum(lowest, 0.0) - penalty)


class DataDistance(eqx.Module):
    """Distance of observations and actions from the data, in standard deviations of the data."""

    points: Float[Array, "m n"]
    mean: Float[Array, " n"]
    std: Float[Array, " n"]
    typical: Float[Array, ""]
    """Mean distance of other recorded points to the nearest of `points`."""

    @classmethod
    def of(cls, episodes: Episodes) -> "DataDistance":
        """Draw points from the data, and measure the typical distance of others."""
        before = episodes.transitions()[0].astype(np.float64)
        pairs = np.concatenate([before, episodes.actions], axis=1)
        scale = deviation(pairs)
        order = np.random.default_rng(0).permutation(len(pairs))[: 2 * _POINTS]
        half = max(len(order) // 2, 1)
        scaled = (pairs - pairs.mean(axis=0)) / scale
        points, others = scaled[order[:half]], scaled[order[half:]]
        rest = others if len(others) else points
        near = jnp.asarray(points, jnp.float32)
        typical = jax.vmap(lambda x: _nearest(near, x))(jnp.asarray(rest, jnp.float32)).mean()
        # Few points are repeated: one array size for all data, and the nearest stays the same.
        points = jnp.asarray(np.resize(points, (_POINTS, points.shape[1])), jnp.float32)
        mean, std = (jnp.asarray(v, jnp.float32) for v in (pairs.mean(axis=0), scale))
        return cls(points, mean, std, jnp.maximum(typical, 1e-6))

    def __call__(
        self, observation: Float[Array, " d"], action: Float[Array, " k"]
    ) -> Float[Array, ""]:
        """Return the distance to the nearest point; 1 is typical of the data."""
        x = (jnp.concatenate([observation, action]) - self.mean) / self.std
        return _nearest(self.points, x) / self.typical


def _nearest(points: Float[Array, "m n"], x: Float[Array, " n"]) -> Float[Array, ""]:
    # |p − x|² = |p|² − 2 p·x + |x|²: for many x one matrix product, ten times as fast.
    squared = jnp.square(points).sum(axis=1) - 2 * points @ x
    return jnp.sqrt(jnp.maximum(squared.min() + jnp.square(x).sum(), 0.0))
