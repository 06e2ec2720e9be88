"""How far a state and action are from the data that a model has seen."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.dynamics.scaling import deviation
from farstep.episodes import Episodes

_POINTS = 1024
"""Of the data that distances are measured to; as many others tell what is usual."""


class Familiarity(eqx.Module):
    """Some of the data's states and actions, in units of their standard deviations."""

    points: Float[Array, "m n"]
    centre: Float[Array, " n"]
    scale: Float[Array, " n"]
    usual: Float[Array, ""]
    """Mean distance of other data to the nearest point."""

    @classmethod
    def of(cls, episodes: Episodes) -> "Familiarity":
        """Draw points from the data, and measure what distance is usual."""
        before = episodes.transitions()[0].astype(np.float64)
        pairs = np.concatenate([before, episodes.actions], axis=1)
        scale = deviation(pairs)
        order = np.random.default_rng(0).permutation(len(pairs))[: 2 * _POINTS]
        half = max(len(order) // 2, 1)
        scaled = (pairs - pairs.mean(axis=0)) / scale
        points, others = scaled[order[:half]], scaled[order[half:]]
        rest = others if len(others) else points
        near = jnp.asarray(points, jnp.float32)
        usual = jax.vmap(lambda x: _nearest(near, x))(jnp.asarray(rest, jnp.float32)).mean()
        # Of few data some are repeated, which does not change the nearest: one size for all data.
        points = jnp.asarray(np.resize(points, (_POINTS, points.shape[1])), jnp.float32)
        centre, unit = (jnp.asarray(v, jnp.float32) for v in (pairs.mean(axis=0), scale))
        return cls(points, centre, unit, jnp.maximum(usual, 1e-6))

    def distance(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Float[Array, ""]:
        """Return the distance to the nearest point; 1 is what is usual among the data."""
        x = (jnp.concatenate([state, action]) - self.centre) / self.scale
        return _nearest(self.points, x) / self.usual


def _nearest(points: Float[Array, "m n"], x: Float[Array, " n"]) -> Float[Array, ""]:
    # |p − x|² = |p|² − 2 p·x + |x|²: for many x one matrix product, ten times as fast.
    squared = jnp.square(points).sum(axis=1) - 2 * points @ x
    return jnp.sqrt(jnp.maximum(squared.min() + jnp.square(x).sum(), 0.0))
