"""The real episodes of `iterate`: run once, kept whatever fails, and never too short."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cart_env
from farstep.errors import FarstepError
from farstep.storage.run_directory import RunDirectory
from farstep.systems.system import System
from farstep.workflows.real_episodes import RealEpisodes, read_episodes


class Nothing:
    """Never acts."""

    def predict(self, observations: np.ndarray) -> np.ndarray:
        del observations
        return np.zeros(1)


def _real(folder: Path, system: System = cart_env.SYSTEM) -> RealEpisodes:
    return RealEpisodes(folder, system, seed=0)


def _run(folder: Path) -> RunDirectory:
    return RunDirectory(folder, "iterate", {})


@pytest.fixture(autouse=True)
def _count_from_zero():
    cart_env.Failing.episodes = 0


def _same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.observations, other.observations)
    np.testing.assert_array_equal(one.actions, other.actions)


def test_each_episode_is_run_once_and_has_random_numbers_of_its_own(tmp_path: Path):
    real = _real(tmp_path)
    real.first(_run(tmp_path / "run"), least=2)
    later = [real.get(number, Nothing()).episode for number in (1, 2)]
    assert later[0] is not None and later[1] is not None
    assert not np.array_equal(later[0].observations[0], later[1].observations[0])
    _same(real.get(1, Nothing()).episode, later[0])
    stored = read_episodes(tmp_path)
    assert len(stored) == 3 and stored.system == "cart"
    _same(stored[1], later[0])
    again = RealEpisodes(tmp_path / "again", cart_env.SYSTEM, seed=0)
    _same(again.get(1, Nothing()).episode, later[0])
    other = RealEpisodes(tmp_path / "other", cart_env.SYSTEM, seed=1).get(1, Nothing()).episode
    assert other is not None
    assert not np.array_equal(other.observations[0], later[0].observations[0])
    with pytest.raises(FarstepError, match="3"):
        real.up_to(3)


def test_an_episode_that_fails_is_kept_with_its_error(tmp_path: Path):
    cart_env.Failing.episodes = 1
    first, again = (_real(tmp_path, cart_env.FAILING).get(1, Nothing()) for _ in range(2))
    assert first.trouble == again.trouble and "on fire" in first.trouble[0]
    assert first.episode is not None and again.episode is not None
    assert len(first.episode.actions) == 8 and not first.episode.terminated
    _same(first.episode, again.episode)


def test_an_episode_is_kept_although_closing_fails(tmp_path: Path):
    real, cart_env.Failing.episodes = _real(tmp_path, cart_env.STUCK), 1
    first, second = real.get(1, Nothing()), real.get(2, Nothing())
    assert first.episode is not None and len(first.episode.actions) == 8
    assert ["on fire" in first.trouble[0], "port is gone" in first.trouble[1]] == [True, True]
    assert second.episode is None and "the brake" in second.trouble[0]


def test_an_episode_without_a_step_counts_but_has_no_data(tmp_path: Path):
    real = _real(tmp_path, cart_env.DEAD)
    for _ in range(2):  # run, then read
        found = real.get(3, Nothing())
        assert found.episode is None and "no power" in found.trouble[0]
    assert cart_env.Failing.episodes == 1


@pytest.mark.parametrize(
    ("system", "episodes", "least", "message"),
    [
        (cart_env.DEAD, 0, 2, "recorded nothing: .*no power"),
        (cart_env.FAILING, 1, 10, r"on fire.*8 step\(s\).*10"),
        (cart_env.FAILING, 0, 21, r"20 step\(s\).*21"),
    ],
)
def test_a_first_episode_that_is_too_short_is_not_kept(
    system: System, episodes: int, least: int, message: str, tmp_path: Path
):
    real = _real(tmp_path / "episodes", system)
    for _ in range(2):  # it can be tried again
        cart_env.Failing.episodes = episodes
        with pytest.raises(FarstepError, match=message):
            real.first(_run(tmp_path / "run"), least)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_first_episode_are_kept(tmp_path: Path):
    real, cart_env.Failing.episodes = _real(tmp_path, cart_env.FAILING), 1
    real.first(_run(tmp_path / "run"), least=2)
    assert "on fire" in _real(tmp_path, cart_env.FAILING).trouble_of_first[0]
