"""The replay buffer: rows of one array, written and read inside a compiled loop."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.losses import Transitions


class Replay(NamedTuple):
    """Transitions in the order they came; when it is full the oldest are overwritten."""

    rows: Float[Array, "capacity width"]
    """State, action, next state, reward, terminated side by side, and with noisy sensors what they
    show of both states: one slice is one write."""
    written: Int[Array, ""]
    """Transitions written so far."""

    @property
    def size(self) -> Int[Array, ""]:
        """How many can be drawn."""
        return jnp.minimum(self.written, len(self.rows))


def empty_replay(
    capacity: int, sizes: tuple[int, int], at_once: int, noisy: bool = False
) -> Replay:
    """Return a buffer for `capacity` transitions, rounded up to a multiple of `at_once`.

    Args:
        capacity: Transitions.
        sizes: Dimensions of states and of actions.
        at_once: Transitions that are written at a time.
        noisy: Keep what the sensors show too; otherwise that is the states themselves.
    """
    capacity = -(-capacity // at_once) * at_once
    width = _plain(*sizes) + (2 * sizes[0] if noisy else 0)
    return Replay(jnp.zeros((capacity, width)), jnp.zeros((), jnp.int32))


def _plain(num_states: int, num_actions: int) -> int:
    """Return the width of a row without what the sensors show."""
    return 2 * num_states + num_actions + 2


def remember(replay: Replay, new: Transitions) -> Replay:
    """Write transitions, as many as every time, over the oldest."""
    parts = [new.states, new.actions, new.next_states]
    parts += [new.rewards[:, None], new.terminated[:, None]]
    if replay.rows.shape[1] > _plain(new.states.shape[1], new.actions.shape[1]):
        parts += [new.seen, new.next_seen]
    rows = jnp.concatenate(parts, axis=1)
    at = replay.written % len(replay.rows)
    written = jax.lax.dynamic_update_slice(replay.rows, rows, (at, jnp.zeros_like(at)))
    return Replay(written, replay.written + len(rows))


def draw(replay: Replay, key: PRNGKeyArray, count: int, sizes: tuple[int, int]) -> Transitions:
    """Return transitions drawn uniformly, with replacement; `sizes` as in `empty_replay`."""
    index = jax.random.randint(key, (count,), 0, replay.size)
    rows = replay.rows[index]
    (d, k), plain = sizes, _plain(*sizes)
    states, next_states = rows[:, :d], rows[:, d + k : 2 * d + k]
    noisy = rows.shape[1] > plain
    return Transitions(
        states=states,
        actions=rows[:, d : d + k],
        rewards=rows[:, plain - 2],
        next_states=next_states,
        terminated=rows[:, plain - 1],
        seen=rows[:, plain : plain + d] if noisy else states,
        next_seen=rows[:, plain + d :] if noisy else next_states,
    )
