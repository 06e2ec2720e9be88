"""Windows: every stretch of h steps of every episode, by index, gathered where it is used."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.checks import check_horizon
from farstep.episodes import Episodes
from farstep.programs import room_for


class Windows(eqx.Module):
    """All windows of h + 1 states and h actions that lie within one episode.

    Only the flat data and one integer for each window are held, so memory does not grow with h.
    It is a pytree: pass it to a compiled function and call `gather` there. (Their number is known
    there as `count`, not by `len`.)
    """

    states: Float[Array, "rows d"]
    actions: Float[Array, "rows k"]
    """In line with `states`; the row of an episode's last state is filled with zeros."""
    starts: Int[Array, " windows"]
    """The row of each window's first state."""
    count: Int[Array, ""]
    """How many windows there are; what comes after them is room for more."""
    horizon: int = eqx.field(static=True)

    @classmethod
    def of(cls, episodes: Episodes, horizon: int, room: bool = False) -> "Windows":
        """Return all windows of `horizon` steps; episodes shorter than that contribute none.

        With `room`, arrays are of sizes that stay the same while the data of a loop grow a little.
        """
        check_horizon(horizon, episodes.lengths)
        actions = np.insert(episodes.actions, episodes.step_offsets[1:], 0.0, axis=0)
        starts = np.flatnonzero(episodes.steps_left >= horizon)
        size = room_for(len(episodes.states)) if room else None
        return cls(
            states=jnp.asarray(_padded(episodes.states.astype(np.float32), size)),
            actions=jnp.asarray(_padded(actions.astype(np.float32), size)),
            starts=jnp.asarray(_padded(starts.astype(np.int32), size)),
            count=jnp.asarray(len(starts), jnp.int32),
            horizon=horizon,
        )

    def __len__(self) -> int:
        return int(self.count)

    def gather(
        self, index: Int[Array, " batch"]
    ) -> tuple[Float[Array, "batch states d"], Float[Array, "batch horizon k"]]:
        """Return the states and actions of the windows with these numbers."""
        rows = self.starts[index][:, None] + jnp.arange(self.horizon + 1)
        return self.states[rows], self.actions[rows[:, :-1]]


def _padded(array: np.ndarray, size: int | None) -> np.ndarray:
    if size is None:
        return array
    return np.pad(array, [(0, size - len(array)), *[(0, 0)] * (array.ndim - 1)])
