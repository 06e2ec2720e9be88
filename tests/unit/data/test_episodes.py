"""Episodes: what they accept, what they refuse, and how they are cut, split and compared."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError
from strategies import many_episodes


def counting(lengths: list[int]) -> Episodes:
    """Return episodes whose observations count 0, 1, 2, … through the whole set."""
    rows = sum(lengths) + len(lengths)
    return Episodes(
        observations=np.arange(rows, dtype=np.float64)[:, None],
        actions=np.zeros((sum(lengths), 1)),
        lengths=np.array(lengths),
        signals=Signals.unnamed(1, 1),
    )


def test_episodes_are_views_of_the_flat_arrays(small: Episodes):
    assert len(small) == 3
    assert small.num_steps == 11
    assert [len(episode.actions) for episode in small] == [4, 1, 6]
    assert [len(episode.observations) for episode in small] == [5, 2, 7]
    np.testing.assert_array_equal(small[-1].observations, small.observations[-7:])
    assert np.shares_memory(small[-1].observations, small.observations)
    assert small[1].terminated
    assert not small[1].truncated
    with pytest.raises(IndexError):
        small[3]
    assert "3 episodes, 11 steps, 2 observations, 1 actions" in repr(small)


@settings(max_examples=30)
@given(many_episodes())
def test_iterating_and_joining_gives_the_same_episodes(data: Episodes):
    again = Episodes.from_list(list(data), data.signals, data.system, data.metadata)
    assert again.equals(data)


def test_transitions_and_returns(small: Episodes):
    before, after = small.transitions()
    np.testing.assert_array_equal(before[:4], small.observations[:4])
    np.testing.assert_array_equal(after[4], small.observations[6])
    assert small.rewards is not None
    expected = [small.rewards[:4].sum(), small.rewards[4], small.rewards[5:].sum()]
    np.testing.assert_allclose(np.asarray(small.returns), expected)
    np.testing.assert_allclose(small[0].total_reward, expected[0])
    bare = dataclasses.replace(small, rewards=None)
    assert bare.returns is None
    assert np.isnan(bare[0].total_reward)


def test_take_needs_whole_numbers(small: Episodes):
    assert small.take([2, -1]).lengths.tolist() == [6, 6]
    with pytest.raises(FarstepError, match="flatnonzero"):
        small.take(small.lengths > 3)
    with pytest.raises(FarstepError, match="numbers"):
        small.take([0.5])


def test_lists_are_read_as_arrays():
    episode = Episode([[0.0], [1.0]], [[0.5]], [1.0], clean_observations=[[0.0], [1.0]])  # type: ignore[arg-type]
    data = Episodes.from_list([episode])
    np.testing.assert_array_equal(data.clean_observations, [[0.0], [1.0]])
    assert data.actions.tolist() == [[0.5]]


def test_episodes_cannot_be_changed(small: Episodes):
    for name in ("observations", "actions", "rewards", "lengths", "terminated", "row_offsets"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(small, name)[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.system = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        small.metadata["recipe"] = 1  # type: ignore[index]


def test_an_array_that_can_still_be_written_to_is_copied():
    observations, lengths, ends = np.zeros((3, 1)), np.array([2]), np.array([False])
    view = observations[:]
    view.flags.writeable = False
    data = Episodes(view, np.zeros((2, 1)), lengths, Signals.unnamed(1, 1), terminated=ends)
    observations[:], lengths[:], ends[:] = 7.0, 9, True
    assert data.observations.max() == 0.0
    assert data.lengths.tolist() == [2]
    assert not data.terminated.any()
    observations.flags.writeable = False
    same = Episodes(observations, data.actions, data.lengths, data.signals)
    assert same.observations is observations


def test_precision_is_kept_and_integers_become_float64():
    for given_type, expected in (
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int64, np.float64),
    ):
        episode = Episode(np.zeros((2, 1), given_type), np.zeros((1, 1), given_type))
        assert Episodes.from_list([episode]).observations.dtype == expected


def example(**changes: object) -> Episode:
    whole = Episode(np.zeros((4, 2)), np.zeros((3, 1)), np.zeros(3))
    return whole._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("episodes", "message"),
    [
        ([], "no episodes"),
        ([example(observations=np.zeros((3, 2)))], "episode 0 has observations .* 3 actions"),
        ([example(), example(observations=np.zeros((4, 3)))], "episode 1 has observations"),
        ([example(), example(actions=np.zeros((3, 2)))], "episode 1 has actions"),
        ([example(observations=np.zeros(4))], r"observations of shape \(4,\)"),
        ([example(rewards=np.zeros(2))], r"rewards of shape \(2,\)"),
        ([example(), example(rewards=None)], "rewards"),
        ([Episode(np.zeros((1, 2)), np.zeros((0, 1)))], "episode 0"),
        ([example(observations=np.full((4, 2), "a"))], "observations must be numbers"),
        (
            [example(clean_observations=np.zeros((rows, 2))) for rows in (3, 5)],
            "episode 0 has clean observations",
        ),
    ],
)
def test_wrong_shapes_name_the_array_and_the_episode(episodes: list[Episode], message: str):
    with pytest.raises(FarstepError, match=message):
        Episodes.from_list(episodes)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_values_that_are_not_finite_are_located(value: float):
    observations = np.zeros((4, 2))
    observations[2, 1] = value
    with pytest.raises(FarstepError, match=r"'s1' in episode 1 at step 2"):
        Episodes.from_list([example(), example(observations=observations)])
    with pytest.raises(FarstepError, match=r"rewards .*episode 0 at step 1"):
        Episodes.from_list([example(rewards=np.array([0.0, value, 0.0]))])
    huge = np.full((4, 2), np.finfo(np.float64).max)  # finite, but their sum is not
    assert len(Episodes.from_list([example(observations=huge)])) == 1


def test_actions_outside_their_bounds_are_refused_or_clipped():
    bounded = Signals(("x", "v"), ("u",), action_low=(-1.0,), action_high=(1.0,))
    episode = example(actions=np.array([[0.5], [1.5], [-3.0]]))
    with pytest.raises(FarstepError, match=r"2 action.*episode 0 at step 1: 'u' is 1.5.*\[-1, 1\]"):
        Episodes.from_list([episode], bounded)
    unbounded = Episodes.from_list([episode])
    with pytest.raises(FarstepError, match="outside"):
        unbounded.with_signals(bounded)
    with pytest.warns(DataWarning, match="2 of 3 actions"):
        clipped = unbounded.with_signals(bounded, clip_actions=True)
    assert clipped.actions.ravel().tolist() == [0.5, 1.0, -1.0]


def test_lengths_are_whole_numbers_and_metadata_are_json():
    with pytest.raises(FarstepError, match="lengths"):
        Episodes(np.zeros((3, 1)), np.zeros((2, 1)), np.array([2.9]), Signals.unnamed(1, 1))
    with pytest.raises(FarstepError, match="metadata"):
        Episodes.from_list([example()], metadata={"array": np.zeros(2)})


@settings(max_examples=30)
@given(st.integers(3, 80), st.integers(0, 2**31 - 1))
def test_splits_are_disjoint_complete_and_follow_the_seed(n: int, seed: int):
    data = counting([1] * n)
    parts = data.split(seed)
    firsts = [set(part.observations[::2, 0].tolist()) for part in parts]
    assert sum(map(len, firsts)) == n
    assert set.union(*firsts) == set(np.arange(0, 2 * n, 2.0).tolist())
    assert min(map(len, parts)) >= 1
    for part, again in zip(parts, data.split(seed), strict=True):
        assert part.equals(again)


def test_split_takes_shares_and_numbers():
    fifty, ten = counting([1] * 50), counting([1] * 10)
    assert [len(part) for part in fifty.split(seed=0)] == [36, 4, 10]
    assert len({tuple(fifty.split(seed).test.observations[:, 0]) for seed in range(20)}) == 20
    for validation, test in ((3, 2), (0.3, 0.2)):
        parts = ten.split(validation=validation, test=test)
        assert [len(part) for part in parts] == [5, 3, 2]
    for validation, test in ((1, 9), (0.0, 1), (1, -1)):
        with pytest.raises(FarstepError, match="10 episodes"):
            ten.split(validation=validation, test=test)
    with pytest.raises(FarstepError, match="2 episodes"):
        counting([1, 1]).split()
    with pytest.raises(FarstepError, match="seed"):
        ten.split(-1)


@settings(max_examples=30)
@given(data=many_episodes(), steps=st.integers(1, 5))
def test_chunks_hold_every_step_once(data: Episodes, steps: int):
    cut = data.chunked(steps)
    assert cut.lengths.max() <= steps
    np.testing.assert_array_equal(cut.actions, data.actions)
    assert cut.terminated.sum() == data.terminated.sum()
    ends = np.cumsum(cut.lengths)
    inside = ~np.isin(ends, np.cumsum(data.lengths))
    assert cut.truncated[inside].all()
    assert not cut.terminated[inside].any()
    assert data.chunked(int(data.lengths.max())).equals(data)


def test_chunks_need_a_step(small: Episodes):
    with pytest.raises(FarstepError, match="steps"):
        small.chunked(0)


def test_the_fingerprint_depends_on_every_number_and_name(small: Episodes):
    changes = {
        "observations": small.observations + 1,
        "actions": small.actions * 0.5,
        "rewards": None,
        "terminated": ~small.terminated,
        "clean_observations": None,
        "signals": dataclasses.replace(small.signals, interval=1.0),
    }
    found = {dataclasses.replace(small, **{k: v}).fingerprint for k, v in changes.items()}
    assert len(found | {small.fingerprint}) == len(changes) + 1
    assert not dataclasses.replace(small, system="other").equals(small)
    assert pickle.loads(pickle.dumps(small)).equals(small)
