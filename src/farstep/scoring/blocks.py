"""Sub-trajectories in blocks of one size, so that memory does not grow with their number."""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from farstep.checks import check_horizon
from farstep.episodes import Episodes
from farstep.windows import Windows

BLOCK = 256


def varies(
    variance: Float[np.ndarray, " d"], mean: Float[np.ndarray, " d"]
) -> Bool[np.ndarray, " d"]:
    """Return which dimensions vary by more than float32's rounding of their values."""
    return variance > np.square(1e-6 * mean)


class Block(NamedTuple):
    """Some sub-trajectories, cut or filled up to one length."""

    states: Float[Array, "n d"]
    """Where they start."""
    actions: Float[Array, "n steps k"]
    targets: Float[Array, "kinds n steps d"]
    """The states that follow, as observed and, where known, without noise."""
    inside: Bool[Array, "n steps"]
    """Which of these states belong to the same episode as the start."""


class SubTrajectories:
    """All stretches of up to `horizon` steps of some episodes, from every state on."""

    def __init__(
        self, episodes: Episodes, horizon: int, least: int = 1, most: int | None = None
    ) -> None:
        """Find the starts.

        Args:
            episodes: What the stretches are of.
            horizon: Steps of a stretch; those near an episode's end have fewer.
            least: Leave out starts that fewer steps follow.
            most: Use only this many starts, evenly spaced, if there are more; one of them has the
                most steps left, so that no step ahead is without a state.
        """
        check_horizon(horizon, episodes.lengths)
        left = episodes.steps_left
        starts = np.flatnonzero(left >= least)
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
        kinds = [flat.states]
        if episodes.clean_states is not None:
            kinds.append(jnp.asarray(episodes.clean_states, jnp.float32))
        self._actions, self._kinds = flat.actions, jnp.stack(kinds)

    def variation(self, stride: int = 1) -> Float[np.ndarray, "kinds compositions d"]:
        """Return SST at every `stride`-th step: Σ (target − that horizon's mean target)².

        NaN for a dimension that does not vary: its spread is lost in float32's rounding.
        """
        clean = self._episodes.clean_states
        found = []
        for states in (self._episodes.states, *([] if clean is None else [clean])):
            states = states.astype(np.float64)
            rows = []
            for step in range(stride, self.horizon + 1, stride):
                targets = states[self.starts[self._left >= step] + step]
                if not len(targets):
                    rows.append(np.full(states.shape[1], np.nan))
                    continue
                mean = targets.mean(axis=0)
                sums = np.square(targets - mean).sum(axis=0)
                rows.append(np.where(varies(sums / len(targets), mean), sums, np.nan))
            found.append(np.stack(rows))
        return np.stack(found)

    def __iter__(self) -> Iterator[Block]:
        """Yield blocks of one size; the last is filled up with starts that nothing follows."""
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
