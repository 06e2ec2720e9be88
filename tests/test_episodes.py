import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.signals import Signals
from strategies import many_episodes


def _of_lengths(lengths: list[int]) -> Episodes:
    """Episodes whose states count 0, 1, 2, … through the whole set."""
    rows = sum(lengths) + len(lengths)
    return Episodes(
        states=np.arange(rows, dtype=np.float64)[:, None],
        actions=np.zeros((sum(lengths), 1)),
        lengths=np.array(lengths),
        signals=Signals.unnamed(1, 1),
    )


def test_an_episode_is_cut_out_where_it_was_put_in(small: Episodes):
    assert len(small) == 3
    assert small.num_steps == 11
    assert [len(episode.actions) for episode in small] == [4, 1, 6]
    assert [len(episode.states) for episode in small] == [5, 2, 7]
    np.testing.assert_array_equal(small[-1].states, small.states[-7:])
    assert small[1].terminated
    assert not small[1].truncated
    with pytest.raises(IndexError):
        small[3]
    assert "3 episodes, 11 steps, 2 states, 1 actions" in repr(small)


@given(many_episodes())
def test_iterating_and_joining_gives_the_same_back(data: Episodes):
    again = Episodes.from_list(list(data), data.signals, data.system, data.metadata)
    assert again.equals(data)


def test_taking_goes_by_whole_numbers(small: Episodes):
    assert small.take([2, -1]).lengths.tolist() == [6, 6]
    with pytest.raises(FarstepError, match="take goes by numbers; of a mask"):
        small.take(small.lengths > 3)
    with pytest.raises(FarstepError, match="numbers"):
        small.take([0.5])


def test_lists_are_taken_for_arrays():
    states, actions = [[0.0], [1.0]], [[0.5]]
    episode = Episode(states, actions, [1.0], clean_states=states)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(Episodes.from_list([episode]).clean_states, states)


def test_returns_are_sums_of_rewards(small: Episodes):
    assert small.rewards is not None
    expected = [small.rewards[:4].sum(), small.rewards[4], small.rewards[5:].sum()]
    np.testing.assert_allclose(np.asarray(small.returns), expected)
    assert dataclasses.replace(small, rewards=None).returns is None


def test_nothing_inside_can_be_changed(small: Episodes):
    with pytest.raises(ValueError, match="read-only"):
        small.states[0, 0] = 1.0
    for name in ("actions", "rewards", "lengths", "terminated", "clean_states", "row_offsets"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(small, name)[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.system = "other"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        small.metadata["recipe"] = 1  # pyright: ignore[reportIndexIssue]


def test_episodes_can_be_sent_to_another_process(small: Episodes):
    assert pickle.loads(pickle.dumps(small)).equals(small)


def test_an_array_that_its_owner_may_still_change_is_copied():
    states, lengths, ends = np.zeros((3, 1)), np.array([2]), np.array([False])
    view = states[:]
    view.flags.writeable = False
    data = Episodes(view, np.zeros((2, 1)), lengths, Signals.unnamed(1, 1), terminated=ends)
    states[:], lengths[:], ends[:] = 7.0, 9, True
    assert data.states.max() == 0.0
    assert data.lengths.tolist() == [2]
    assert not data.terminated.any()
    states.flags.writeable = False
    assert Episodes(states, data.actions, data.lengths, data.signals).states is states


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_integers_become_float64(dtype: type):
    def states_dtype(given: type) -> np.dtype:
        episode = Episode(np.zeros((2, 1), given), np.zeros((1, 1), given))
        return Episodes.from_list([episode]).states.dtype

    assert states_dtype(dtype) == dtype
    assert states_dtype(np.int64) == np.float64


def _episode(**changes: object) -> Episode:
    whole = Episode(np.zeros((4, 2)), np.zeros((3, 1)), np.zeros(3))
    return whole._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("episodes", "said"),
    [
        ([], "no episodes"),
        ([_episode(states=np.zeros((3, 2)))], "episode 0 has 3 states and 3 actions"),
        ([_episode(), _episode(states=np.zeros((4, 3)))], "episode 1 has states of shape"),
        ([_episode(), _episode(actions=np.zeros((3, 2)))], "episode 1 has actions of shape"),
        ([_episode(states=np.zeros(4))], "must be \\(steps, dimensions\\)"),
        ([_episode(rewards=np.zeros(2))], "rewards of shape \\(2,\\) for 3 actions"),
        ([_episode(), _episode(rewards=None)], "some have none"),
        ([Episode(np.zeros((1, 2)), np.zeros((0, 1)))], "episode 0 has no transition"),
        ([_episode(states=np.full((4, 2), "a"))], "must be numbers"),
        (
            [_episode(clean_states=np.zeros((rows, 2))) for rows in (3, 5)],
            "episode 0 has clean states of shape",
        ),
    ],
)
def test_wrong_shapes_say_which_and_where(episodes: list[Episode], said: str):
    with pytest.raises(FarstepError, match=said):
        Episodes.from_list(episodes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_say_where(value: float):
    states = np.zeros((4, 2))
    states[2, 1] = value
    with pytest.raises(FarstepError, match=r"1 value.* of 's1' in episode 1 at step 2"):
        Episodes.from_list([_episode(), _episode(states=states)])
    rewards = np.array([0.0, value, 0.0])
    with pytest.raises(FarstepError, match=r"rewards has 1 value.*episode 0 at step 1"):
        Episodes.from_list([_episode(rewards=rewards)])


def test_huge_finite_values_are_fine():
    states = np.full((4, 2), np.finfo(np.float64).max)
    assert len(Episodes.from_list([_episode(states=states)])) == 1


def test_actions_beyond_their_bounds_are_said_and_clipped_only_when_asked():
    bounded = Signals(("x", "v"), ("u",), action_low=(-1.0,), action_high=(1.0,))
    episode = _episode(actions=np.array([[0.5], [1.5], [-3.0]]))
    with pytest.raises(FarstepError, match=r"2 action.*episode 0 at step 1: 'u' is 1.5.*\[-1, 1\]"):
        Episodes.from_list([episode], bounded)
    unbounded = Episodes.from_list([episode])
    with pytest.raises(FarstepError, match="outside their bounds"):
        unbounded.with_signals(bounded)
    with pytest.warns(DataWarning, match="2 of 3 actions were clipped"):
        clipped = unbounded.with_signals(bounded, clip_actions=True)
    assert clipped.actions.ravel().tolist() == [0.5, 1.0, -1.0]


def test_lengths_must_be_whole_numbers():
    with pytest.raises(FarstepError, match="whole numbers"):
        Episodes(np.zeros((3, 1)), np.zeros((2, 1)), np.array([2.9]), Signals.unnamed(1, 1))


def test_lists_are_taken_as_arrays():
    episode = Episode([[0.0], [1.0]], [[0.5]], [2.0])  # type: ignore[arg-type]
    assert Episodes.from_list([episode]).actions.tolist() == [[0.5]]


def test_metadata_must_be_json():
    with pytest.raises(FarstepError, match="plain JSON"):
        Episodes.from_list([_episode()], metadata={"array": np.zeros(2)})


def test_fifty_episodes_split_36_4_10():
    parts = _of_lengths([3] * 50).split(seed=0)
    assert [len(part) for part in parts] == [36, 4, 10]


def test_another_seed_is_another_split():
    data = _of_lengths([1] * 50)
    tests = {tuple(data.split(seed).test.states[:, 0]) for seed in range(20)}
    assert len(tests) == 20
    with pytest.raises(FarstepError, match="seed must be a whole number of at least 0"):
        data.split(-1)


@given(st.integers(3, 80), st.integers(0, 2**32))
def test_splits_are_disjoint_complete_and_follow_the_seed(n: int, seed: int):
    data = _of_lengths([1] * n)
    parts = data.split(seed)
    firsts = [set(part.states[::2, 0].tolist()) for part in parts]
    assert sum(map(len, firsts)) == n
    assert set.union(*firsts) == set(np.arange(0, 2 * n, 2.0).tolist())
    assert min(map(len, parts)) >= 1
    for part, again in zip(parts, data.split(seed), strict=True):
        assert part.equals(again)


def test_split_takes_numbers_and_shares():
    data = _of_lengths([1] * 10)
    assert [len(part) for part in data.split(validation=3, test=2)] == [5, 3, 2]
    assert [len(part) for part in data.split(validation=0.3, test=0.2)] == [5, 3, 2]
    for validation, test in ((1, 9), (0.0, 1), (1, -1)):
        with pytest.raises(FarstepError, match="cannot split 10 episodes"):
            data.split(validation=validation, test=test)
    with pytest.raises(FarstepError, match="cannot split 2 episodes"):
        _of_lengths([1, 1]).split()


@given(data=many_episodes(), steps=st.integers(1, 5))
def test_pieces_hold_every_step_once_and_no_more_than_asked(data: Episodes, steps: int):
    cut = data.pieces(steps)
    assert cut.lengths.max() <= steps and cut.num_steps == data.num_steps
    np.testing.assert_array_equal(cut.actions, data.actions)
    assert cut.terminated.sum() == data.terminated.sum()
    ends = np.cumsum(cut.lengths)
    inside = ~np.isin(ends, np.cumsum(data.lengths))
    assert cut.truncated[inside].all() and not cut.terminated[inside].any()
    whole = data.pieces(int(data.lengths.max()))
    assert whole.equals(data)


def test_pieces_of_nothing_are_an_error(small: Episodes):
    with pytest.raises(FarstepError, match="whole number of at least 1, not 0"):
        small.pieces(0)


def test_fingerprint_sees_every_change(small: Episodes):
    changes = {
        "states": small.states + 1,
        "actions": small.actions * 0.5,
        "rewards": None,
        "terminated": ~small.terminated,
        "clean_states": None,
        "signals": dataclasses.replace(small.signals, interval=1.0),
    }
    prints = {
        dataclasses.replace(small, **{key: value}).fingerprint for key, value in changes.items()
    }
    assert len(prints | {small.fingerprint}) == len(changes) + 1
    assert not dataclasses.replace(small, system="other").equals(small)
