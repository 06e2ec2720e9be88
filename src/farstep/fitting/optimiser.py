"""The optimiser of a fit."""

from functools import lru_cache
from typing import Any

import jax
import optax


@lru_cache
def optimiser(
    learning_rate: float, total: int | None, clip: float | None, weight_decay: float = 0.0
) -> optax.GradientTransformation:
    """Return Adam; the same object for the same settings, so that nothing is compiled again."""
    rate = optax.cosine_decay_schedule(learning_rate, total) if total else learning_rate
    adam = optax.adam(rate)
    if weight_decay:
        adam = optax.adamw(rate, weight_decay=weight_decay, mask=_matrices)
    return optax.chain(optax.clip_by_global_norm(clip), adam) if clip else adam


def _matrices(parameters: Any) -> Any:
    """Return what decays: weights of layers, no biases, scales, or weights of horizons."""
    return jax.tree.map(lambda array: array.ndim > 1, parameters)
