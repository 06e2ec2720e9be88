"""Learning curves of fits, agents and iterations: every number is drawn where it belongs."""

from pathlib import Path

import numpy as np
import pytest

import cart
from farstep.agents.learning_curve import AgentCurve
from farstep.errors import FarstepError
from farstep.models.model import Model
from farstep.plotting.learning_curves import (
    agent_chart,
    iteration_chart,
    plot_training,
    training_figure,
)
from farstep.training.fit import fit


def test_a_fit_has_a_line_for_each_horizon_and_marks_the_best_epoch():
    curve = {
        "validation": [[0.1, 0.2, 0.4], [0.05, None, 0.3]],
        "weights": [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]],
        "gradient_norm": [1.0, 0.5],
        "best_epoch": 1,
    }
    losses, weights, gradient = training_figure(curve).axes
    assert len(losses.lines) == len(weights.lines) == 3 + 1
    assert np.asarray(losses.lines[-1].get_xdata())[0] == 2
    np.testing.assert_array_equal(np.asarray(weights.lines[0].get_ydata()), [0.5, 0.6])
    np.testing.assert_array_equal(np.asarray(gradient.lines[0].get_ydata()), [1.0, 0.5])
    losses, weights, gradient = training_figure(curve, curve, curve).axes
    assert (len(losses.lines), len(weights.lines), len(gradient.lines)) == (4 + 2, 4, 1 + 2)


def test_a_model_without_a_curve_is_refused(tiny_ensemble: Model, tmp_path: Path):
    linear = fit(cart.data(), cart.data(1, seed=1), model="linear")
    with pytest.raises(FarstepError, match="training curve"):
        plot_training(linear, tmp_path / "training")
    paths = plot_training(tiny_ensemble, tmp_path / "training")
    assert [path.name for path in paths] == ["training.png", "training.pdf"]


def _curve(*returns: float) -> AgentCurve:
    rows = [
        {"steps": 10.0 * n, "seconds": 1.0 * n, "real_return": value, "imagined_return": None}
        for n, value in enumerate(returns, 1)
    ]
    return AgentCurve([dict(row) for row in rows])


def test_an_agents_line_is_the_mean_of_seeds_and_the_band_their_range():
    chart = agent_chart({"a": [_curve(1, 2, 3), _curve(3, 6)], "b": [_curve(7)]}, "t", "returns")
    against_steps, against_seconds = chart.panels
    assert (against_steps.x_label, against_seconds.x_label) == ("steps", "seconds")
    first, second = against_steps.lines
    assert (first.name, second.name) == ("a: real", "b: real")
    np.testing.assert_array_equal(first.x, [10, 20])  # as long as the shortest
    np.testing.assert_array_equal(first.y, [2, 4])
    np.testing.assert_array_equal(first.low, [1, 2])
    np.testing.assert_array_equal(first.high, [3, 6])
    assert second.low is None and first.colour != second.colour


def test_iterations_have_returns_and_r_squared_after_each_episode():
    rows = [
        [
            {"return": value, "imagined_return": None, "r2_10": 0.5, "r2_50": None}
            for value in returns
        ]
        for returns in ([1.0, None, 5.0], [3.0, 4.0])
    ]
    returns, r2 = iteration_chart(rows, "t", "returns").panels
    assert [line.name for line in (*returns.lines, *r2.lines)] == ["real", "10 steps ahead"]
    np.testing.assert_array_equal(returns.lines[0].y, [2, 4])
    np.testing.assert_array_equal(returns.lines[0].low, [1, 4])
