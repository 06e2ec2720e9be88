"""What is held out for validation: whole episodes, ends, or stretches that stay the same."""

import numpy as np
import pytest

from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from farstep.fitting.held_out import hold_out, hold_out_parts
from pendulum import TINY, pendulum


def test_holding_out_takes_whole_episodes_or_the_end_of_the_only_one():
    train, held = hold_out(pendulum(20))
    assert (len(train), len(held)) == (18, 2)
    train, held = hold_out(pendulum(1, 60))
    assert train.lengths.tolist() == [54]
    assert held.lengths.tolist() == [6]
    np.testing.assert_array_equal(train.states[-1], held.states[0])
    assert fit(pendulum(1, 60), **TINY).record["validation"] == held.fingerprint


def test_what_is_too_short_for_a_window_is_not_held_out():
    short, long = pendulum(9, 3), pendulum(2, 50)
    mixed = Episodes.from_list([*short, *long], long.signals)
    train, held = hold_out(mixed, least=5)
    assert (len(train), held.lengths.tolist()) == (10, [50])
    one_long = Episodes.from_list([*short, long[0]], long.signals)
    train, held = hold_out(one_long, least=8)
    assert train.lengths.tolist() == [3] * 9 + [42]
    assert held.lengths.tolist() == [8]
    with pytest.raises(FarstepError, match="longest episode has 3 steps, too few to fit a model 5"):
        hold_out(short, least=5)


def test_a_stretch_of_each_episode_stays_held_out_when_others_come():
    many = pendulum(8, 60)
    kept, held = hold_out_parts(many.take(range(3)), seed=1, least=5)
    assert held.lengths.tolist() == [6, 6, 6]
    assert kept.lengths.sum() == 3 * 54 and kept.lengths.min() >= 5
    _, later = hold_out_parts(many, seed=1, least=5)
    np.testing.assert_array_equal(later.take(range(3)).states, held.states)
    short = Episodes.from_list([*many.take(range(3)), *pendulum(2, 14)], many.signals)
    _, mixed = hold_out_parts(short, seed=1, least=10)
    _, longer = hold_out_parts(short.take([0, 1, 2, 3]), seed=1, least=10)
    assert mixed.lengths.tolist() == longer.lengths.tolist() == [10, 10, 10]
    all_actions = np.sort(np.concatenate([kept.actions, held.actions]), axis=0)
    np.testing.assert_array_equal(all_actions, np.sort(many.take(range(3)).actions, axis=0))


def test_stretches_of_short_episodes():
    short, long = pendulum(2, 3), pendulum(1, 50)
    mixed = Episodes.from_list([*short, *long], long.signals)
    kept, held = hold_out_parts(mixed, seed=0, least=5)
    assert held.lengths.tolist() == [5] and kept.lengths.sum() == 3 + 3 + 45
    kept, held = hold_out_parts(short, seed=0, least=10)  # no longer than the data allow
    assert (kept.lengths.sum(), held.lengths.tolist()) == (4, [1, 1])
