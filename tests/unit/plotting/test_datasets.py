"""Figures of datasets: one panel for each observation, one dot for each return."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from farstep.data.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.plotting.datasets import observations_figure, plot_datasets, returns_figure


def test_one_panel_for_each_observation_with_its_unit(small: Episodes):
    figure = observations_figure({"one": small, "two": small.take([0])})
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles == ["level [m]", "flow [m3/s]"]
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["one", "two"]
    variance = small.observations[:, 0].astype(float).var()
    assert f"var {variance:.2g}" in [text.get_text() for text in figure.axes[0].texts]


def test_one_dot_for_each_episode_at_its_return(small: Episodes):
    axes = returns_figure({"data": small}).axes[0]
    assert small.returns is not None
    dots = axes.collections[-1].get_offsets()
    np.testing.assert_allclose(np.asarray(dots)[:, 1], small.returns)


def test_constant_observations_and_missing_rewards_can_be_drawn(tmp_path: Path):
    still = Episodes.from_list([Episode(np.ones((5, 1)), np.zeros((4, 1)))])
    paths = plot_datasets({"still": still}, tmp_path)
    assert sorted(path.name for path in paths) == ["observations.pdf", "observations.png"]


def test_figures_are_not_replaced_without_force(small: Episodes, tmp_path: Path):
    paths = plot_datasets({"data": small}, tmp_path)
    assert [path.stem for path in paths[::2]] == ["returns", "observations"]
    with pytest.raises(FarstepError, match="returns"):
        plot_datasets({"data": small}, tmp_path)
    assert plot_datasets({"data": small}, tmp_path, force=True) == paths


def test_datasets_of_different_systems_are_refused(small: Episodes, tmp_path: Path):
    other = small.with_signals(dataclasses.replace(small.signals, observation_names=("a", "b")))
    with pytest.raises(FarstepError, match="observations"):
        plot_datasets({"one": small, "two": other}, tmp_path / "never")
    with pytest.raises(FarstepError, match="datasets"):
        plot_datasets({}, tmp_path / "never")
    assert not (tmp_path / "never").exists()
