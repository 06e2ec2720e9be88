"""The replay buffer keeps the last transitions, and draws all of them equally often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.agents.replay import Transitions, empty_replay, sample, store


def numbered(first: int, count: int) -> Transitions:
    """Return transitions that contain their number in every part."""
    number = np.arange(first, first + count, dtype=np.float32)
    seen = np.stack([number + 0.1, number + 0.2], axis=1)
    return Transitions(
        states=jnp.asarray(np.stack([number, -number], axis=1)),
        actions=jnp.asarray(number[:, None] + 0.5),
        rewards=jnp.asarray(number * 10),
        next_states=jnp.asarray(np.stack([number + 1, -number - 1], axis=1)),
        terminated=jnp.asarray(number % 2),
        observations=jnp.asarray(seen),
        next_observations=jnp.asarray(-seen),
    )


@pytest.mark.parametrize(
    ("at_once", "capacity", "writes"), [(1, 1, 3), (1, 7, 5), (4, 10, 2), (4, 10, 9), (3, 3, 1)]
)
def test_the_last_transitions_are_kept(at_once: int, capacity: int, writes: int):
    replay = empty_replay(capacity, (2, 1), at_once)
    assert len(replay.rows) == -(-capacity // at_once) * at_once
    for number in range(writes):
        replay = store(replay, numbered(number * at_once, at_once))
    total = writes * at_once
    kept = sorted(np.asarray(replay.rows[: int(replay.size), 0]).tolist())
    assert kept == list(range(max(0, total - len(replay.rows)), total))


@pytest.mark.parametrize("noisy", [False, True])
def test_drawn_transitions_are_stored_ones(noisy: bool):
    replay = store(empty_replay(10, (2, 1), 4, noisy), numbered(3, 4))
    batch = sample(replay, jax.random.key(0), 400, (2, 1))
    number = np.asarray(batch.states[:, 0])
    values, counts = np.unique(number, return_counts=True)
    assert values.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert counts.min() > 60
    np.testing.assert_array_equal(batch.states[:, 1], -number)
    np.testing.assert_array_equal(batch.actions[:, 0], number + 0.5)
    np.testing.assert_array_equal(batch.rewards, number * 10)
    np.testing.assert_array_equal(batch.next_states[:, 0], number + 1)
    np.testing.assert_array_equal(batch.terminated, number % 2)
    if noisy:
        np.testing.assert_allclose(batch.observations[:, 1], number + 0.2, rtol=1e-6)
        np.testing.assert_allclose(batch.next_observations[:, 0], -number - 0.1, rtol=1e-6)
    else:  # they equal the states and are not stored
        np.testing.assert_array_equal(batch.observations, batch.states)
        np.testing.assert_array_equal(batch.next_observations, batch.next_states)
