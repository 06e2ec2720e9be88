"""Calibration of a model's uncertainty against the horizon: coverage of intervals and CRPS."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.stats import norm

from farstep.data.episodes import Episodes
from farstep.evaluation.subtrajectories import Block, SubTrajectories, varies
from farstep.models.contract import Dynamics
from farstep.models.rollout import rollouts

LEVELS = (0.5, 0.9)
"""Probabilities of the central intervals whose coverage is measured."""
STARTS = 512
"""Calibration uses at most this many rollouts."""
PARTICLES = 32
"""Sampled rollouts that approximate one predictive distribution."""


class Calibration(NamedTuple):
    """Means over the dimensions that vary, against the horizon."""

    coverage: Float[np.ndarray, "levels steps"]
    """Share of the observations inside the central interval of each of `LEVELS`."""
    crps: Float[np.ndarray, " steps"]
    """Continuous ranked probability score, in standard deviations of the observations."""


def predictive(
    dynamics: Dynamics,
    observations: Float[Array, "n d"],
    actions: Float[Array, "n steps k"],
    keys: Key[Array, " n"],
) -> tuple[Float[Array, "n model_steps d"], Float[Array, "n model_steps d"]]:
    """Return mean and standard deviation of the following observations, uncertainty included.

    Feeding back the mean alone would give the uncertainty of the last step only. This feeds back
    samples, and returns the moments of the mixture of `PARTICLES` such rollouts, plus the sampling
    error of its mean. The 90 % intervals of a perfect model then cover about 89 %. A model without
    uncertainty has a standard deviation of zero.
    """
    each = jax.vmap(lambda key: jax.random.split(key, PARTICLES))(keys).T
    first = rollouts(dynamics, observations, actions, each[0], "sample")
    if not jnp.isfinite(first.log_std).any():
        return first.mean, jnp.zeros_like(first.mean)
    total, squares, variance = 0.0, 0.0, jnp.exp(2 * first.log_std)
    for key in each[1:]:
        mean, log_std = rollouts(dynamics, observations, actions, key, "sample")
        # Relative to the first, so that equal rollouts have a variance of exactly zero.
        total, squares = total + (mean - first.mean), squares + jnp.square(mean - first.mean)
        variance = variance + jnp.exp(2 * log_std)
    between = jnp.maximum(squares - jnp.square(total) / PARTICLES, 0.0) / (PARTICLES - 1)
    between = between * (1 + 1 / PARTICLES)
    return first.mean + total / PARTICLES, jnp.sqrt(variance / PARTICLES + between)


def calibration(dynamics: Dynamics, episodes: Episodes, horizon: int) -> Calibration | None:
    """Measure calibration on evenly spaced starts; None for a model without uncertainty."""
    fixed_horizon = dynamics.fixed_horizon
    observations = episodes.observations.astype(np.float64)
    kept = varies(observations.var(axis=0), observations.mean(axis=0))
    scale = jnp.asarray(np.where(kept, observations.std(axis=0), 1.0), jnp.float32)
    counts, sums = 0, 0
    for number, block in enumerate(SubTrajectories(episodes, horizon, fixed_horizon, STARTS)):
        key = jax.random.fold_in(jax.random.key(1), number)
        keys = jax.random.split(key, len(block.observations))
        mean, std = predictive(dynamics, block.observations, block.actions, keys)
        if number == 0 and not (std > 0).any():
            return None
        inside, parts = _sums(mean, std, block, scale, fixed_horizon)
        counts = counts + np.asarray(inside, np.float64)
        sums = sums + np.asarray(parts, np.float64)
    means = (sums / np.asarray(counts)[:, None])[..., kept].mean(axis=-1)
    return Calibration(coverage=means[:-1], crps=means[-1])


@eqx.filter_jit
def _sums(
    mean: Float[Array, "n model_steps d"],
    std: Float[Array, "n model_steps d"],
    block: Block,
    scale: Float[Array, " d"],
    fixed_horizon: int,
) -> tuple[Float[Array, " model_steps"], Float[Array, "parts model_steps d"]]:
    """Return the count of targets, then how many are inside each interval, and Σ CRPS."""
    inside = block.inside[:, fixed_horizon - 1 :: fixed_horizon]
    std = jnp.maximum(std, 1e-9 * scale)
    z = (block.targets[0, :, fixed_horizon - 1 :: fixed_horizon] - mean) / std
    parts = [jnp.abs(z) <= critical_value(level) for level in LEVELS]
    parts.append(std / scale * gaussian_crps(z))
    kept = [jnp.where(inside[..., None], part, 0.0).sum(axis=0) for part in parts]
    return inside.sum(axis=0).astype(jnp.float32), jnp.stack(kept)


def critical_value(level: float) -> float:
    """Return half the width of a Gaussian's central interval, in standard deviations."""
    return float(norm.ppf(0.5 + level / 2))


def gaussian_crps(z: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """Return the CRPS of a standard Gaussian at z (Gneiting and Raftery 2007, equation 21)."""
    density = jnp.exp(-0.5 * jnp.square(z)) / math.sqrt(2 * math.pi)
    return z * jax.scipy.special.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
