import dataclasses
from pathlib import Path

import numpy as np
import pytest

from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.report.datasets import plot_datasets, returns_figure, states_figure


def test_one_panel_for_each_observable_with_its_unit(small: Episodes):
    figure = states_figure({"one": small, "two": small.take([0])})
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles == ["level [m]", "flow [m3/s]"]
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["one", "two"]
    assert any("var" in text.get_text() for text in figure.axes[0].texts)


def test_one_dot_for_each_episode_at_its_return(small: Episodes):
    axes = returns_figure({"data": small}).axes[0]
    assert small.returns is not None
    dots = axes.collections[-1].get_offsets()
    np.testing.assert_allclose(np.asarray(dots)[:, 1], small.returns)


def test_a_constant_dimension_and_missing_rewards_are_drawn_around(tmp_path: Path):
    still = Episodes.from_list([Episode(np.ones((5, 1)), np.zeros((4, 1)))])
    paths = plot_datasets({"still": still}, tmp_path)
    assert sorted(path.name for path in paths) == ["states.pdf", "states.png"]


def test_the_same_data_are_the_same_picture(small: Episodes, tmp_path: Path):
    first = plot_datasets({"data": small}, tmp_path / "a")
    second = plot_datasets({"data": small}, tmp_path / "b")
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_pictures_are_not_replaced_unasked(small: Episodes, tmp_path: Path):
    plot_datasets({"data": small}, tmp_path)
    with pytest.raises(FarstepError, match="exists already"):
        plot_datasets({"data": small}, tmp_path)
    assert plot_datasets({"data": small}, tmp_path, force=True)


def test_datasets_of_different_systems_are_not_mixed(small: Episodes):
    other = small.with_signals(dataclasses.replace(small.signals, state_names=("a", "b")))
    with pytest.raises(FarstepError, match="different states"):
        plot_datasets({"one": small, "two": other}, "never")
    with pytest.raises(FarstepError, match="no dataset"):
        plot_datasets({}, "never")
