"""Windows: all h consecutive steps of every episode, by index, gathered when needed."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.runtime.compilation import room_for


class Windows(eqx.Module):
    """All windows of h + 1 observations and h actions that lie within one episode.

    It holds the flat data and one integer for each window, so memory does not grow with h. It is
    a pytree: pass it to a compiled function and call `gather` there. `count` is traced; `len` is
    not available there.
    """

    observations: Float[Array, "rows d"]
    actions: Float[Array, "rows k"]
    """In line with `observations`; zeros where an episode has its last observation."""
    starts: Int[Array, " windows"]
    """The row of each window's first observation."""
    count: Int[Array, ""]
    """The number of windows; the entries of `starts` after them are padding."""
    horizon: int = eqx.field(static=True)

    @classmethod
    def of(cls, episodes: Episodes, horizon: int, room: bool = False) -> "Windows":
        """Return all windows of `horizon` steps; shorter episodes have none.

        With `room`, arrays are padded to sizes that stay the same while the data grow a little.
        """
        check_horizon(horizon, episodes.lengths)
        actions = np.insert(episodes.actions, episodes.step_offsets[1:], 0.0, axis=0)
        starts = np.flatnonzero(episodes.steps_left >= horizon)
        size = room_for(len(episodes.observations)) if room else None
        return cls(
            observations=jnp.asarray(_padded(episodes.observations.astype(np.float32), size)),
            actions=jnp.asarray(_padded(actions.astype(np.float32), size)),
            starts=jnp.asarray(_padded(starts.astype(np.int32), size)),
            count=jnp.asarray(len(starts), jnp.int32),
            horizon=horizon,
        )

    def __len__(self) -> int:
        return int(self.count)

    def gather(
        self, index: Int[Array, " batch"]
    ) -> tuple[Float[Array, "batch observations d"], Float[Array, "batch horizon k"]]:
        """Return the observations and actions of the windows with these numbers."""
        rows = self.starts[index][:, None] + jnp.arange(self.horizon + 1)
        return self.observations[rows], self.actions[rows[:, :-1]]


def _padded(array: np.ndarray, size: int | None) -> np.ndarray:
    if size is None:
        return array
    return np.pad(array, [(0, size - len(array)), *[(0, 0)] * (array.ndim - 1)])


def check_horizon(horizon: int, lengths: Int[np.ndarray, " n"]) -> None:
    """Fail unless a window of `horizon` steps fits into at least one episode."""
    if horizon < 1:
        raise FarstepError(f"the horizon must be at least 1, not {horizon}.")
    if horizon > lengths.max():
        raise FarstepError(
            f"a horizon of {horizon} steps is longer than every episode (the longest has "
            f"{lengths.max()}); choose a shorter one."
        )


def unresolved(episodes: Episodes) -> str:
    """Return a sentence on observations whose changes float32 cannot resolve, or ""."""
    before, after = episodes.transitions()
    change = (after.astype(np.float64) - before).std(axis=0)
    size = np.abs(episodes.observations).max(axis=0)
    resolution = np.spacing(size.astype(np.float32))
    varies = np.ptp(episodes.observations, axis=0) > 0
    lost = np.flatnonzero((resolution > 0.01 * change) & varies)
    if not len(lost):
        return ""
    first = lost[0]
    return (
        f"'{episodes.signals.observation_names[first]}' has values up to {size[first]:.6g} and "
        f"changes by {change[first]:.2g} a step, but float32 resolves only "
        f"{resolution[first]:.2g}; subtract a constant from it ({len(lost)} such observation(s))."
    )
