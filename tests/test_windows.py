import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.windows import Windows


def _counting(lengths: list[int]) -> Episodes:
    """State = (episode, time); action = (episode, time) too."""
    return Episodes.from_list(
        [
            Episode(
                states=np.stack([np.full(n + 1, e), np.arange(n + 1)], axis=1).astype(np.float32),
                actions=np.stack([np.full(n, e), np.arange(n)], axis=1).astype(np.float32),
            )
            for e, n in enumerate(lengths)
        ]
    )


@settings(deadline=None, max_examples=20)  # each new shape compiles
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 9))
def test_windows_are_all_those_within_one_episode(lengths: list[int], horizon: int):
    data = _counting(lengths)
    if horizon > max(lengths):
        with pytest.raises(FarstepError, match="longer than every episode"):
            Windows.of(data, horizon)
        return
    windows = Windows.of(data, horizon)
    expected = [(e, start) for e, n in enumerate(lengths) for start in range(n - horizon + 1)]
    assert len(windows) == data.num_windows(horizon) == len(expected)
    states, actions = map(np.asarray, windows.gather(jnp.arange(len(windows))))
    assert states.shape == (len(expected), horizon + 1, 2)
    assert actions.shape == (len(expected), horizon, 2)
    assert [tuple(map(int, first)) for first in states[:, 0]] == expected
    np.testing.assert_array_equal(states[:, :, 0], states[:, :1, 0].repeat(horizon + 1, axis=1))
    np.testing.assert_array_equal(np.diff(states[:, :, 1], axis=1), 1.0)
    np.testing.assert_array_equal(actions, states[:, :-1])


def test_gathering_compiles_and_is_traced_once():
    windows = Windows.of(_counting([20, 30]), 5)
    traces = 0

    @eqx.filter_jit
    def total(windows: Windows, index: jax.Array) -> jax.Array:
        nonlocal traces
        traces += 1
        states, _ = windows.gather(index)
        return states.sum()

    for start in range(4):
        index = jnp.arange(start, start + 8)
        assert total(windows, index) == windows.gather(index)[0].sum()
    assert traces == 1


def test_windows_with_room_are_the_same_windows():
    data = _counting([20, 30])
    tight, roomy = Windows.of(data, 5), Windows.of(data, 5, room=True)
    assert len(roomy) == len(tight) and len(roomy.starts) == len(roomy.states) == 64
    index = jnp.arange(len(tight))
    for one, other in zip(tight.gather(index), roomy.gather(index), strict=True):
        np.testing.assert_array_equal(one, other)


def test_memory_does_not_grow_with_the_horizon():
    data = _counting([500] * 4)

    def held(horizon: int) -> int:
        return sum(leaf.nbytes for leaf in jax.tree.leaves(Windows.of(data, horizon)))

    assert held(100) <= held(10) <= held(1)


def test_a_horizon_below_one_is_an_error():
    with pytest.raises(FarstepError, match="at least 1, not 0"):
        Windows.of(_counting([3]), 0)
