"""R² against horizon, over all sub-trajectories, streamed in blocks."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.dynamics.contract import Dynamics
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.rollout import rollout
from farstep.windows import Windows

_BLOCK = 256


def r_squared(
    dynamics: Dynamics, episodes: Episodes, horizon: int, most: int | None = None
) -> Float[np.ndarray, "compositions d"]:
    """Return R² of each dimension at 1, 2, … compositions, up to `horizon` steps ahead.

    R²(j) = 1 − SSE(j)/SST(j) over all sub-trajectories of that many steps, with the true actions;
    SST is about the mean of that horizon's own targets. A dimension that does not vary has no R²:
    NaN. Predictions that are not finite give minus infinity.

    Args:
        dynamics: The model, composed with itself.
        episodes: What it is measured on.
        horizon: Steps ahead; a multiple of the model's stride.
        most: Use only this many starts, evenly spaced, if there are more.
    """
    if horizon % dynamics.stride:
        raise FarstepError(
            f"a model that spans {dynamics.stride} steps cannot be scored at horizon {horizon}; "
            "choose a multiple."
        )
    starts, left = _starts(episodes, dynamics.stride, most)
    flat = Windows.of(episodes, horizon)
    centre = jnp.asarray(episodes.states.mean(axis=0), jnp.float32)
    sums = [
        [
            np.asarray(part, np.float64)
            for part in _block(dynamics, flat.states, flat.actions, centre, s, n, horizon)
        ]
        for s, n in _blocks(starts, left)
    ]
    squared_errors, total, squares, count = (
        np.sum(parts, axis=0) for parts in zip(*sums, strict=True)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        variation = squares - total**2 / count
        varies = variation > 1e-10 * np.maximum(squares, 1e-30)
        result = np.where(varies, 1 - squared_errors / variation, np.nan)
    return np.where(varies & ~np.isfinite(squared_errors), -np.inf, result)


def mean_r_squared(
    values: Float[np.ndarray, "compositions d"],
) -> Float[np.ndarray, " compositions"]:
    """Return the mean over the dimensions that vary."""
    varies = ~np.isnan(values)
    total = np.where(varies, values, 0.0).sum(axis=1)
    return np.where(varies.any(axis=1), total / np.maximum(varies.sum(axis=1), 1), np.nan)


def _starts(episodes: Episodes, stride: int, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows where sub-trajectories start, and how many steps follow each."""
    left = episodes.steps_left
    starts = np.flatnonzero(left >= stride)
    if most is not None and most < len(starts):
        starts = starts[np.linspace(0, len(starts) - 1, most).astype(int)]
    return starts, left[starts]


def _blocks(starts: np.ndarray, left: np.ndarray) -> list[tuple[Array, Array]]:
    """Cut into blocks of one size; the last is filled up with starts that nothing follows."""
    missing = -len(starts) % _BLOCK
    starts, left = np.pad(starts, (0, missing)), np.pad(left, (0, missing))
    return [
        (
            jnp.asarray(starts[i : i + _BLOCK], jnp.int32),
            jnp.asarray(left[i : i + _BLOCK], jnp.int32),
        )
        for i in range(0, len(starts), _BLOCK)
    ]


@eqx.filter_jit
def _block(
    dynamics: Dynamics,
    states: Float[Array, "rows d"],
    actions: Float[Array, "rows k"],
    centre: Float[Array, " d"],
    starts: Array,
    left: Array,
    horizon: int,
) -> tuple[Array, Array, Array, Array]:
    """Return a block's Σ error², Σ target, Σ target² and count, for each composition."""
    stride = dynamics.stride
    rows = jnp.minimum(starts[:, None] + jnp.arange(horizon + 1), states.shape[0] - 1)
    keys = jax.random.split(jax.random.key(0), starts.shape[0])
    predicted = jax.vmap(partial(rollout, dynamics))(
        states[rows[:, 0]], actions[rows[:, :-1]], keys
    ).mean
    targets = states[rows[:, stride::stride]]
    inside = (jnp.arange(stride, horizon + 1, stride) <= left[:, None])[..., None]
    errors = jnp.where(inside, jnp.square(targets - predicted), 0.0).sum(axis=0)
    around = jnp.where(inside, targets - centre, 0.0)
    return errors, around.sum(axis=0), jnp.square(around).sum(axis=0), inside.sum(axis=0)
