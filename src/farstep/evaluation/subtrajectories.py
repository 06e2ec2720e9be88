"""Sub-trajectories in blocks of one size: bounded memory, one compiled program."""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from farstep.data.episodes import Episodes
from farstep.data.windows import Windows, check_horizon

BLOCK = 256
"""Sub-trajectories in one block."""


def varies(
    variance: Float[np.ndarray, " d"], mean: Float[np.ndarray, " d"]
) -> Bool[np.ndarray, " d"]:
    """Return which dimensions vary by more than the rounding error of float32."""
    return variance > np.square(1e-6 * mean)


class Block(NamedTuple):
    """Some sub-trajectories, cut or padded to one length."""

    observations: Float[Array, "n d"]
    """The first observation of each."""
    actions: Float[Array, "n steps k"]
    targets: Float[Array, "kinds n steps d"]
    """The following observations: as measured and, where the dataset has them, without noise."""
    inside: Bool[Array, "n steps"]
    """Which targets belong to the same episode as the first observation."""


class SubTrajectories:
    """All sub-trajectories of up to `horizon` steps, one from every observation."""

    def __init__(
        self, episodes: Episodes, horizon: int, min_steps: int = 1, most: int | None = None
    ) -> None:
        """Find the starts.

        Args:
            episodes: The data.
            horizon: Steps of a sub-trajectory; near an episode's end it has fewer.
            min_steps: Leave out starts with fewer remaining steps.
            most: Use at most this many starts, evenly spaced. One of them has the most remaining
                steps, so that every horizon has a target.
        """
        check_horizon(horizon, episodes.lengths)
        left = episodes.steps_left
        starts = np.flatnonzero(left >= min_steps)
        if most is not None and most < len(starts):
            chosen = starts[np.linspace(0, len(starts) - 1, most).astype(int)]
            if left[chosen].max() < left[starts].max():
                chosen[-1] = starts[left[starts].argmax()]
            starts = np.sort(chosen)
        self.horizon = horizon
        self.starts: Int[np.ndarray, " n"] = starts
        self._left = left[starts]
        self._episodes = episodes
        flat = Windows.of(episodes, horizon)
        kinds = [flat.observations]
        if episodes.clean_observations is not None:
            kinds.append(jnp.asarray(episodes.clean_observations, jnp.float32))
        self._actions, self._kinds = flat.actions, jnp.stack(kinds)

    def sst(self, fixed_horizon: int = 1) -> Float[np.ndarray, "kinds model_steps d"]:
        """Return Σ (target − mean target of that horizon)² at every `fixed_horizon`-th step.

        NaN for a dimension that does not vary, since float32 rounds its variation away.
        """
        clean = self._episodes.clean_observations
        kinds = []
        for observations in (self._episodes.observations, *([] if clean is None else [clean])):
            observations = observations.astype(np.float64)
            rows = []
            for step in range(fixed_horizon, self.horizon + 1, fixed_horizon):
                targets = observations[self.starts[self._left >= step] + step]
                if not len(targets):
                    rows.append(np.full(observations.shape[1], np.nan))
                    continue
                mean = targets.mean(axis=0)
                sums = np.square(targets - mean).sum(axis=0)
                rows.append(np.where(varies(sums / len(targets), mean), sums, np.nan))
            kinds.append(np.stack(rows))
        return np.stack(kinds)

    def __iter__(self) -> Iterator[Block]:
        """Yield blocks of one size; the last is padded with starts that have no targets."""
        missing = -len(self.starts) % BLOCK
        starts, left = np.pad(self.starts, (0, missing)), np.pad(self._left, (0, missing))
        for first in range(0, len(starts), BLOCK):
            chosen = slice(first, first + BLOCK)
            yield _gather(
                self._kinds,
                self._actions,
                jnp.asarray(starts[chosen], jnp.int32),
                jnp.asarray(left[chosen], jnp.int32),
                self.horizon,
            )


@eqx.filter_jit
def _gather(
    kinds: Float[Array, "kinds rows d"],
    actions: Float[Array, "rows k"],
    starts: Int[Array, " n"],
    left: Int[Array, " n"],
    horizon: int,
) -> Block:
    steps = jnp.arange(1, horizon + 1)
    rows = jnp.minimum(starts[:, None] + steps, kinds.shape[1] - 1)
    before = jnp.minimum(starts[:, None] + steps - 1, kinds.shape[1] - 1)
    return Block(kinds[0, starts], actions[before], kinds[:, rows], steps <= left[:, None])
