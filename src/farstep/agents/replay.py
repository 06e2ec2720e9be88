"""The replay buffer: rows of one array, written and read inside a compiled loop."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Transitions(NamedTuple):
    """A batch from the replay buffer; actions are scaled to [−1, 1]."""

    states: Float[Array, "b d"]
    """The critics' input."""
    actions: Float[Array, "b k"]
    rewards: Float[Array, " b"]
    next_states: Float[Array, "b d"]
    terminated: Float[Array, " b"]
    """1 where the next state ends the task; 0 where the episode is truncated."""
    observations: Float[Array, "b d"]
    """The actor's input: the states, or noisy readings of them."""
    next_observations: Float[Array, "b d"]


class Replay(NamedTuple):
    """Transitions in the order of time; a full buffer overwrites the oldest."""

    rows: Float[Array, "capacity width"]
    """State, action, next state, reward, terminated side by side, so that one slice is one write.
    With observation noise, both observations follow."""
    written: Int[Array, ""]
    """Transitions written so far."""

    @property
    def size(self) -> Int[Array, ""]:
        """How many transitions can be drawn."""
        return jnp.minimum(self.written, len(self.rows))


def empty_replay(
    capacity: int, sizes: tuple[int, int], at_once: int, noisy: bool = False
) -> Replay:
    """Return an empty buffer.

    Args:
        capacity: Transitions, rounded up to a multiple of `at_once`.
        sizes: Dimensions of states and of actions.
        at_once: Transitions in each write.
        noisy: Store observations too; otherwise they equal the states.
    """
    (d, k), capacity = sizes, -(-capacity // at_once) * at_once
    width = 2 * d + k + 2 + (2 * d if noisy else 0)
    return Replay(jnp.zeros((capacity, width)), jnp.zeros((), jnp.int32))


def store(replay: Replay, new: Transitions) -> Replay:
    """Write transitions over the oldest; the same number every time."""
    parts = [new.states, new.actions, new.next_states]
    parts += [new.rewards[:, None], new.terminated[:, None]]
    if replay.rows.shape[1] > sum(part.shape[1] for part in parts):
        parts += [new.observations, new.next_observations]
    rows = jnp.concatenate(parts, axis=1)
    at = replay.written % len(replay.rows)
    written = jax.lax.dynamic_update_slice(replay.rows, rows, (at, jnp.zeros_like(at)))
    return Replay(written, replay.written + len(rows))


def sample(replay: Replay, key: PRNGKeyArray, count: int, sizes: tuple[int, int]) -> Transitions:
    """Draw transitions uniformly, with replacement; `sizes` as in `empty_replay`."""
    index = jax.random.randint(key, (count,), 0, replay.size)
    rows = replay.rows[index]
    d, k = sizes
    width = 2 * d + k + 2  # without observations
    states, next_states = rows[:, :d], rows[:, d + k : 2 * d + k]
    noisy = rows.shape[1] > width
    return Transitions(
        states=states,
        actions=rows[:, d : d + k],
        rewards=rows[:, width - 2],
        next_states=next_states,
        terminated=rows[:, width - 1],
        observations=rows[:, width : width + d] if noisy else states,
        next_observations=rows[:, width + d :] if noisy else next_states,
    )
