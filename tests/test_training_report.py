from pathlib import Path

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from farstep.report.training import plot_training, training_figure
from pendulum import TINY, pendulum


def test_the_curve_has_a_line_for_each_horizon_and_marks_the_best_epoch():
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


def test_a_model_without_a_curve_is_said(tmp_path: Path):
    model = fit(pendulum(2), pendulum(1), model="linear")
    with pytest.raises(FarstepError, match="no training curve"):
        plot_training(model, tmp_path / "training")
    paths = plot_training(fit(pendulum(2), pendulum(1), **TINY), tmp_path / "training")
    assert [path.suffix for path in paths] == [".png", ".pdf"]
