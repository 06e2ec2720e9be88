"""Metrics that follow from R²: thresholds, growth and intervals."""

import json

import numpy as np
import pytest

from farstep.evaluation.metrics import ModelMetrics


def metrics(r2: np.ndarray) -> ModelMetrics:
    return ModelMetrics("model", "model", np.arange(1, r2.shape[1] + 1), r2[..., None])


def test_growth_rate_and_thresholds_follow_from_r_squared():
    error = 0.05 * 1.07 ** np.arange(1, 51)
    found = metrics(1 - error[None] ** 2)
    assert found.growth_rate == pytest.approx(0.07, rel=1e-6)
    assert found.falls_below(0.9) == int(np.argmax(1 - error**2 < 0.9)) + 1
    assert found.falls_below(-100) is None
    assert found.mean_r2[0] == pytest.approx(float((1 - error**2).mean()))
    assert np.isnan(metrics(np.ones((1, 5))).growth_rate)


def test_intervals_are_students_and_absent_for_one_seed():
    values = np.array([[0.5, 0.9], [0.7, 0.9], [0.9, 0.9]])
    found = metrics(values)
    mean, half = found.at(1)
    assert mean == pytest.approx(0.7)
    assert half == pytest.approx(2.919986 * 0.2 / np.sqrt(3), rel=1e-5)
    assert np.isnan(metrics(values[:1]).at(1)[1])
    assert np.isnan(found.at(7)[0])


def test_json_has_no_nan():
    found = metrics(np.array([[0.5, -np.inf, np.nan]]))
    stored = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert stored["seeds"] == 1
    assert stored["r2"] == [[0.5, None, None]]
    assert (found.diverged, stored["diverged"]) == (2, 2)
