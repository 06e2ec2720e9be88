"""Angles that are given as cosine and sine lie on a circle."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float


def on_circles(
    state: Float[Array, "*batch d"], angles: Sequence[tuple[int, int]]
) -> Float[Array, "*batch d"]:
    """Return the state with every (cosine, sine) pair at a distance of 1 from zero."""
    for cos, sin in angles:
        radius = jnp.sqrt(state[..., cos] ** 2 + state[..., sin] ** 2 + 1e-12)
        state = state.at[..., cos].divide(radius).at[..., sin].divide(radius)
    return state
