"""The optimiser of a fit."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int


@lru_cache
def optimiser(
    learning_rate: float, clip: float | None = None, weight_decay: float = 0.0
) -> optax.GradientTransformation:
    """Return Adam; the same object for the same settings, so that nothing is compiled again."""
    adam = optax.adam(learning_rate)
    if weight_decay:
        adam = optax.adamw(learning_rate, weight_decay=weight_decay, mask=_matrices)
    return optax.chain(optax.clip_by_global_norm(clip), adam) if clip else adam


def along_cosine(changes: Any, done: Int[Array, ""], total: Float[Array, ""] | None) -> Any:
    """Return what an update changes once `done` of `total` are made: less and less, down to none.

    The total is no part of the optimiser: it differs from fit to fit of a loop, whose data grow.
    """
    if total is None:
        return changes
    share = (1 + jnp.cos(jnp.pi * jnp.minimum(done / total, 1.0))) / 2
    return jax.tree.map(lambda change: share * change, changes)


def running_average(old: Any, new: Any, decay: float, updates: Int[Array, ""]) -> Any:
    """Return the running average of weights after an update; over the first ones it forgets faster.

    `updates` is how many there were before this one.
    """
    keep = jnp.minimum(decay, (1 + updates) / (10 + updates))
    return jax.tree.map(lambda before, now: keep * before + (1 - keep) * now, old, new)


def _matrices(parameters: Any) -> Any:
    """Return what decays: weights of layers, no biases, scales, or weights of horizons."""
    return jax.tree.map(lambda array: array.ndim > 1, parameters)
