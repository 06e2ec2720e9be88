"""How well a model knows its own error: coverage of its intervals and CRPS, against horizon."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.stats import norm

from farstep.dynamics.contract import Dynamics
from farstep.episodes import Episodes
from farstep.rollout import rollouts
from farstep.scoring.blocks import Block, SubTrajectories, varies

LEVELS = (0.5, 0.9)
"""Of the central intervals whose coverage is measured."""
STARTS = 512
"""Rollouts, at most, that calibration is measured on."""
PARTICLES = 32
"""Sampled rollouts whose moments make one predictive distribution."""


class Calibration(NamedTuple):
    """Against horizon, the mean over dimensions that vary."""

    coverage: Float[np.ndarray, "levels steps"]
    """Share of the observed states inside the central interval of each of `LEVELS`."""
    crps: Float[np.ndarray, " steps"]
    """Continuous ranked probability score, in units of the state's standard deviation."""


def predictive(
    dynamics: Dynamics,
    states: Float[Array, "n d"],
    actions: Float[Array, "n steps k"],
    keys: Key[Array, " n"],
) -> tuple[Float[Array, "n compositions d"], Float[Array, "n compositions d"]]:
    """Return mean and standard deviation of the states that follow, uncertainty included.

    A Gaussian whose mean alone is fed back knows the error of its last step only. Here samples
    are fed back, and the moments are those of `PARTICLES` such rollouts' mixture; what the few
    of them leave unknown of their mean is added. 90 % intervals of a perfect model then hold about
    89 %. A model without uncertainty has a standard deviation of zero.
    """
    each = jax.vmap(lambda key: jax.random.split(key, PARTICLES))(keys).T
    first = rollouts(dynamics, states, actions, each[0], "sample")
    if not jnp.isfinite(first.log_std).any():
        return first.mean, jnp.zeros_like(first.mean)
    total, squares, variance = 0.0, 0.0, jnp.exp(2 * first.log_std)
    for key in each[1:]:
        mean, log_std = rollouts(dynamics, states, actions, key, "sample")
        # About the first, so that equal rollouts have no spread at all.
        total, squares = total + (mean - first.mean), squares + jnp.square(mean - first.mean)
        variance = variance + jnp.exp(2 * log_std)
    between = jnp.maximum(squares - jnp.square(total) / PARTICLES, 0.0) / (PARTICLES - 1)
    between = between * (1 + 1 / PARTICLES)
    return first.mean + total / PARTICLES, jnp.sqrt(variance / PARTICLES + between)


def calibration(dynamics: Dynamics, episodes: Episodes, horizon: int) -> Calibration | None:
    """Return the calibration on evenly spaced starts; None for a model without uncertainty."""
    stride = dynamics.stride
    states = episodes.states.astype(np.float64)
    kept = varies(states.var(axis=0), states.mean(axis=0))
    scale = jnp.asarray(np.where(kept, states.std(axis=0), 1.0), jnp.float32)
    counts, sums = 0, 0
    for number, block in enumerate(SubTrajectories(episodes, horizon, stride, STARTS)):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(1), number), len(block.states))
        mean, std = predictive(dynamics, block.states, block.actions, keys)
        if number == 0 and not (std > 0).any():
            return None
        inside, parts = _sums(mean, std, block, scale, stride)
        counts = counts + np.asarray(inside, np.float64)
        sums = sums + np.asarray(parts, np.float64)
    means = (sums / np.asarray(counts)[:, None])[..., kept].mean(axis=-1)
    return Calibration(coverage=means[:-1], crps=means[-1])


@eqx.filter_jit
def _sums(
    mean: Float[Array, "n compositions d"],
    std: Float[Array, "n compositions d"],
    block: Block,
    scale: Float[Array, " d"],
    stride: int,
) -> tuple[Float[Array, " compositions"], Float[Array, "parts compositions d"]]:
    """Return how many there are, Σ inside each interval, and Σ CRPS."""
    inside = block.inside[:, stride - 1 :: stride]
    std = jnp.maximum(std, 1e-9 * scale)
    z = (block.targets[0, :, stride - 1 :: stride] - mean) / std
    parts = [jnp.abs(z) <= reach(level) for level in LEVELS]
    parts.append(std / scale * gaussian_crps(z))
    kept = [jnp.where(inside[..., None], part, 0.0).sum(axis=0) for part in parts]
    return inside.sum(axis=0).astype(jnp.float32), jnp.stack(kept)


def reach(level: float) -> float:
    """Return how many standard deviations a Gaussian's central interval reaches to each side."""
    return float(norm.ppf(0.5 + level / 2))


def gaussian_crps(z: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """Return the CRPS of a standard Gaussian at z (Gneiting and Raftery 2007, equation 21)."""
    density = jnp.exp(-0.5 * jnp.square(z)) / math.sqrt(2 * math.pi)
    return z * jax.scipy.special.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
