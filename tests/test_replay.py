"""The replay buffer: what was written last is there, and every row is drawn alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.agents.losses import Transitions
from farstep.agents.replay import draw, empty_replay, remember


def _numbered(first: int, count: int) -> Transitions:
    number = jnp.arange(first, first + count, dtype=jnp.float32)
    shown = jnp.stack([number + 0.1, number + 0.2], axis=1)
    return Transitions(
        states=jnp.stack([number, -number], axis=1),
        actions=number[:, None] + 0.5,
        rewards=number * 10,
        next_states=jnp.stack([number + 1, -number - 1], axis=1),
        terminated=(number % 2),
        seen=shown,
        next_seen=-shown,
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 12))
def test_the_last_transitions_are_kept(at_once: int, capacity: int, writes: int):
    replay = empty_replay(capacity, (2, 1), at_once)
    assert len(replay.rows) % at_once == 0 and len(replay.rows) >= capacity
    for number in range(writes):
        replay = remember(replay, _numbered(number * at_once, at_once))
    total = writes * at_once
    kept = sorted(np.asarray(replay.rows[: int(replay.size), 0]).tolist())
    assert kept == list(range(max(0, total - len(replay.rows)), total))


@pytest.mark.parametrize("noisy", [False, True])
def test_what_is_drawn_is_what_was_written(noisy: bool):
    replay = remember(empty_replay(10, (2, 1), 4, noisy), _numbered(3, 4))
    batch = draw(replay, jax.random.key(0), 400, (2, 1))
    number = np.asarray(batch.states[:, 0])
    assert set(number.tolist()) == {3.0, 4.0, 5.0, 6.0}
    np.testing.assert_array_equal(batch.states[:, 1], -number)
    np.testing.assert_array_equal(batch.actions[:, 0], number + 0.5)
    np.testing.assert_array_equal(batch.rewards, number * 10)
    np.testing.assert_array_equal(batch.next_states[:, 0], number + 1)
    np.testing.assert_array_equal(batch.terminated, number % 2)
    if noisy:
        np.testing.assert_allclose(batch.seen[:, 1], number + 0.2, rtol=1e-6)
        np.testing.assert_allclose(batch.next_seen[:, 0], -number - 0.1, rtol=1e-6)
    else:  # what is not kept is the states
        np.testing.assert_array_equal(batch.seen, batch.states)
        np.testing.assert_array_equal(batch.next_seen, batch.next_states)
    counts = np.unique(number, return_counts=True)[1]
    assert counts.min() > 60
