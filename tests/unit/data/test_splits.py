"""Validation data that are split off where the user gives none."""

import warnings

import numpy as np
import pytest

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.data.splits import hold_out, hold_out_parts
from farstep.errors import FarstepError


def test_a_tenth_of_the_episodes_or_the_end_of_the_only_one():
    train, validation = hold_out(cart.data(20))
    assert (len(train), len(validation)) == (18, 2)
    train, validation = hold_out(cart.data(1, 60))
    assert train.lengths.tolist() == [54]
    assert validation.lengths.tolist() == [6]
    np.testing.assert_array_equal(train.observations[-1], validation.observations[0])


def test_episodes_too_short_for_a_window_are_not_held_out():
    short, long = cart.data(9, 3), cart.data(2, 50)
    mixed = Episodes.from_list([*short, *long], long.signals)
    train, validation = hold_out(mixed, least=5)
    assert (len(train), validation.lengths.tolist()) == (10, [50])
    one_long = Episodes.from_list([*short, long[0]], long.signals)
    train, validation = hold_out(one_long, least=8)
    assert train.lengths.tolist() == [3] * 9 + [42]
    assert validation.lengths.tolist() == [8]
    with pytest.raises(FarstepError, match="3 steps"):
        hold_out(short, least=5)


def test_parts_stay_held_out_when_episodes_are_added():
    many = cart.data(8, 60)
    train, validation = hold_out_parts(many.take(range(3)), seed=1, least=5)
    assert validation.lengths.tolist() == [6, 6, 6]
    assert train.lengths.sum() == 3 * 54
    assert train.lengths.min() >= 5
    _, later = hold_out_parts(many, seed=1, least=5)
    np.testing.assert_array_equal(later.take(range(3)).observations, validation.observations)
    short = Episodes.from_list([*many.take(range(3)), *cart.data(2, 14)], many.signals)
    _, mixed = hold_out_parts(short, seed=1, least=10)
    assert mixed.lengths.tolist() == [10, 10, 10]
    all_actions = np.sort(np.concatenate([train.actions, validation.actions]), axis=0)
    np.testing.assert_array_equal(all_actions, np.sort(many.take(range(3)).actions, axis=0))


def test_parts_of_short_episodes():
    short, long = cart.data(2, 3), cart.data(1, 50)
    mixed = Episodes.from_list([*short, *long], long.signals)
    train, validation = hold_out_parts(mixed, seed=0, least=5)
    assert validation.lengths.tolist() == [5]
    assert train.lengths.sum() == 3 + 3 + 45
    train, validation = hold_out_parts(short, seed=0, least=10)  # no longer than the data allow
    assert (train.lengths.sum(), validation.lengths.tolist()) == (4, [1, 1])


def test_short_episodes_in_a_part_of_a_split_give_a_warning():
    rng = np.random.default_rng(0)
    lengths = [2, 3, *[100] * 8]
    episodes = Episodes.from_list(
        [Episode(rng.normal(size=(n + 1, 2)), rng.normal(size=(n, 1))) for n in lengths]
    )
    caught = {}
    for seed in range(20):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            parts = episodes.split(seed)
        caught[seed] = [str(one.message) for one in found]
        short = [n for n, part in parts._asdict().items() if part.lengths.mean() < 24]
        assert [text.split()[1] for text in caught[seed]] == short
    assert any(caught.values()) and not all(caught.values())
