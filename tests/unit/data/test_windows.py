"""Windows: all of them, and none across the end of an episode."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.data.episodes import Episode, Episodes
from farstep.data.windows import Windows
from farstep.errors import FarstepError


def counting(lengths: list[int]) -> Episodes:
    """Return episodes whose observations and actions are (episode, time)."""
    return Episodes.from_list(
        [
            Episode(
                observations=np.stack([np.full(n + 1, e), np.arange(n + 1)], axis=1) * 1.0,
                actions=np.stack([np.full(n, e), np.arange(n)], axis=1) * 1.0,
            )
            for e, n in enumerate(lengths)
        ]
    )


@settings(max_examples=20)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 9))
def test_windows_are_all_those_within_one_episode(lengths: list[int], horizon: int):
    data = counting(lengths)
    if horizon > max(lengths):
        with pytest.raises(FarstepError, match=f"horizon of {horizon}"):
            Windows.of(data, horizon)
        return
    # With room, the arrays have one size here, so that gathering them compiles once.
    windows = Windows.of(data, horizon, room=True)
    expected = [(e, start) for e, n in enumerate(lengths) for start in range(n - horizon + 1)]
    assert len(windows) == data.num_windows(horizon) == len(expected)
    rows = np.asarray(windows.starts)[: len(expected), None] + np.arange(horizon + 1)
    observations, actions = np.asarray(windows.observations), np.asarray(windows.actions)
    observations, actions = observations[rows], actions[rows[:, :-1]]
    assert [tuple(map(int, first)) for first in observations[:, 0]] == expected
    np.testing.assert_array_equal(np.diff(observations[:, :, 0], axis=1), 0.0)
    np.testing.assert_array_equal(np.diff(observations[:, :, 1], axis=1), 1.0)
    np.testing.assert_array_equal(actions, observations[:, :-1])


def test_gathering_compiles_once_and_room_changes_nothing():
    data = counting([20, 30])
    tight, roomy = Windows.of(data, 5), Windows.of(data, 5, room=True)
    assert len(roomy) == len(tight)
    assert len(roomy.starts) == len(roomy.observations) == 64
    traces = 0

    @eqx.filter_jit
    def gather(windows: Windows, index: jax.Array) -> tuple[jax.Array, jax.Array]:
        nonlocal traces
        traces += 1
        return windows.gather(index)

    for start in range(4):
        index = jnp.asarray(np.arange(start, start + 8))
        observations, actions = gather(tight, index)
        assert observations.shape == (8, 6, 2)
        assert actions.shape == (8, 5, 2)
        np.testing.assert_array_equal(observations[:, :, 1], np.add.outer(index, np.arange(6)))
        np.testing.assert_array_equal(actions, observations[:, :-1])
    assert traces == 1
    index = jnp.asarray(np.arange(8))
    np.testing.assert_array_equal(gather(roomy, index)[0], gather(tight, index)[0])


def test_memory_does_not_grow_with_the_horizon():
    data = counting([500] * 4)

    def size(horizon: int) -> int:
        return sum(leaf.nbytes for leaf in jax.tree.leaves(Windows.of(data, horizon)))

    assert size(100) <= size(10) <= size(1)


def test_a_horizon_below_one_is_an_error():
    with pytest.raises(FarstepError, match=r"horizon .* 0"):
        Windows.of(counting([3]), 0)
