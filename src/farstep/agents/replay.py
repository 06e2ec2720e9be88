"""The replay buffer: rows of one array, written and read inside a compiled loop."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.losses import Transitions


class Replay(NamedTuple):
    """Transitions in the order they came; when it is full the oldest are overwritten."""

    rows: Float[Array, "capacity width"]
    """State, action, next state, reward, terminated side by side: one slice is one write."""
    written: Int[Array, ""]
    """Transitions written so far."""

    @property
    def size(self) -> Int[Array, ""]:
        """How many can be drawn."""
        return jnp.minimum(self.written, len(self.rows))


def empty_replay(capacity: int, num_states: int, num_actions: int, at_once: int) -> Replay:
    """Return a buffer for `capacity` transitions, rounded up to a multiple of `at_once`."""
    capacity = -(-capacity // at_once) * at_once
    rows = jnp.zeros((capacity, 2 * num_states + num_actions + 2))
    return Replay(rows, jnp.zeros((), jnp.int32))


def remember(replay: Replay, new: Transitions) -> Replay:
    """Write transitions, as many as every time, over the oldest."""
    rows = jnp.concatenate(
        [
            new.states,
            new.actions,
            new.next_states,
            new.rewards[:, None],
            new.terminated[:, None],
        ],
        axis=1,
    )
    at = replay.written % len(replay.rows)
    written = jax.lax.dynamic_update_slice(replay.rows, rows, (at, jnp.zeros_like(at)))
    return Replay(written, replay.written + len(rows))


def draw(replay: Replay, key: PRNGKeyArray, count: int, num_states: int) -> Transitions:
    """Return transitions drawn uniformly, with replacement."""
    index = jax.random.randint(key, (count,), 0, replay.size)
    rows = replay.rows[index]
    d = num_states
    k = rows.shape[1] - 2 * d - 2
    return Transitions(
        states=rows[:, :d],
        actions=rows[:, d : d + k],
        rewards=rows[:, -2],
        next_states=rows[:, d + k : 2 * d + k],
        terminated=rows[:, -1],
    )
