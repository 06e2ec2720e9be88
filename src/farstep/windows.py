"""Windows: every stretch of h steps of every episode, by index, gathered where it is used."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from farstep.checks import check_horizon
from farstep.episodes import Episodes


class Windows(eqx.Module):
    """All windows of h + 1 states and h actions that lie within one episode.

    Only the flat data and one integer for each window are held, so memory does not grow with h.
    It is a pytree: pass it to a compiled function and call `gather` there.
    """

    states: Float[Array, "rows d"]
    actions: Float[Array, "rows k"]
    """In line with `states`; the row of an episode's last state is filled with zeros."""
    starts: Int[Array, " windows"]
    """The row of each window's first state."""
    horizon: int = eqx.field(static=True)

    @classmethod
    def of(cls, episodes: Episodes, horizon: int) -> "Windows":
        """Return all windows of `horizon` steps; episodes shorter than that contribute none."""
        check_horizon(horizon, episodes.lengths)
        actions = np.insert(episodes.actions, episodes.step_offsets[1:], 0.0, axis=0)
        return cls(
            states=jnp.asarray(episodes.states, jnp.float32),
            actions=jnp.asarray(actions, jnp.float32),
            starts=jnp.asarray(np.flatnonzero(episodes.steps_left >= horizon), jnp.int32),
            horizon=horizon,
        )

    def __len__(self) -> int:
        return self.starts.shape[0]

    def gather(
        self, index: Int[Array, " batch"]
    ) -> tuple[Float[Array, "batch states d"], Float[Array, "batch horizon k"]]:
        """Return the states and actions of the windows with these numbers."""
        rows = self.starts[index][:, None] + jnp.arange(self.horizon + 1)
        return self.states[rows], self.actions[rows[:, :-1]]
