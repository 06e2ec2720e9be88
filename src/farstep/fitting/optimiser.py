"""The optimiser of a fit."""

from functools import lru_cache

import optax


@lru_cache
def optimiser(
    learning_rate: float, total: int | None, clip: float | None, weight_decay: float = 0.0
) -> optax.GradientTransformation:
    """Return Adam; the same object for the same settings, so that nothing is compiled again."""
    rate = optax.cosine_decay_schedule(learning_rate, total) if total else learning_rate
    adam = optax.adamw(rate, weight_decay=weight_decay) if weight_decay else optax.adam(rate)
    return optax.chain(optax.clip_by_global_norm(clip), adam) if clip else adam
