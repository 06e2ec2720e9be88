"""The soft indicator functions that dm_control's rewards are made of, in JAX."""

import jax.numpy as jnp
from jaxtyping import Array, Float

_VALUE_AT_MARGIN = 0.1


def gaussian_tolerance(x: Float[Array, ""], margin: float) -> Float[Array, ""]:
    """Return 1 at x = 0, falling as a Gaussian to 0.1 at |x| = margin.

    The `gaussian` sigmoid of `dm_control.utils.rewards.tolerance` with bounds (0, 0).
    """
    scale = jnp.sqrt(-2 * jnp.log(_VALUE_AT_MARGIN)) / margin
    return jnp.exp(-0.5 * (x * scale) ** 2)


def quadratic_tolerance(x: Float[Array, ""], margin: float) -> Float[Array, ""]:
    """Return 1 at x = 0, falling as a parabola to 0 at |x| = margin and beyond.

    The `quadratic` sigmoid of `dm_control.utils.rewards.tolerance` with value 0 at the margin.
    """
    return jnp.maximum(0.0, 1.0 - (x / margin) ** 2)
