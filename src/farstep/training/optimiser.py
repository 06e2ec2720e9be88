"""Adam, its cosine schedule, and running averages of weights."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int


@lru_cache
def optimiser(
    learning_rate: float, max_grad_norm: float | None = None, weight_decay: float = 0.0
) -> optax.GradientTransformation:
    """Return Adam; the same object for the same settings, so that programs are shared."""
    adam = optax.adam(learning_rate)
    if weight_decay:
        adam = optax.adamw(learning_rate, weight_decay=weight_decay, mask=_matrices)
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), adam) if max_grad_norm else adam


def along_cosine(changes: Any, done: Int[Array, ""], total: Float[Array, ""] | None) -> Any:
    """Scale the changes of an update by a cosine schedule that falls to 0 after `total` updates.

    The total is no part of the optimiser, which would be compiled again for each: it differs
    between fits to growing data. None scales nothing.
    """
    if total is None:
        return changes
    share = (1 + jnp.cos(jnp.pi * jnp.minimum(done / total, 1.0))) / 2
    return jax.tree.map(lambda change: share * change, changes)


def running_average(old: Any, new: Any, decay: float, updates: Int[Array, ""]) -> Any:
    """Update a running average of weights, which forgets faster over the first updates.

    Args:
        old: The average.
        new: The weights after the update.
        decay: Share of the average that is kept.
        updates: Number of updates before this one.
    """
    keep = jnp.minimum(decay, (1 + updates) / (10 + updates))
    return jax.tree.map(lambda before, now: keep * before + (1 - keep) * now, old, new)


def _matrices(parameters: Any) -> Any:
    """Select what decays: weights of layers, but no biases, scales or horizon weights."""
    return jax.tree.map(lambda array: array.ndim > 1, parameters)
