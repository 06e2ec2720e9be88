"""The sentences and the short table of an evaluation."""

import re

import numpy as np
import pytest

from farstep.evaluation.calibration import Calibration
from farstep.evaluation.metrics import Kind, ModelMetrics
from farstep.evaluation.summary import r2_text, short_table, summary


def metrics(
    name: str, r2: list[float], kind: Kind = "model", covered: float | None = None
) -> ModelMetrics:
    steps = np.arange(1, len(r2) + 1)
    calibrations = ()
    if covered is not None:
        coverage = np.full((2, len(r2)), covered)
        calibrations = (Calibration(coverage, np.zeros(len(r2))),)
    values = np.array(r2, np.float64)[None, :, None]
    return ModelMetrics(name, kind, steps, values, calibrations=calibrations)


@pytest.mark.parametrize(
    ("model", "interval", "parts"),
    [
        (metrics("m", [1.0, 0.95, 0.8]), 0.5, ["above 0.9 for 2 steps (1 s)"]),
        (metrics("m", [1.0, 0.95]), None, ["above 0.9 for all 2 steps"]),
        (metrics("m", [0.5, 0.4]), 0.5, ["below 0.9 already 1 step(s) ahead"]),
        (metrics("m", [1.0, 0.95], covered=0.07), None, ["7%", "2 steps ahead: too narrow"]),
        (metrics("m", [1.0, 0.95], covered=1.0), None, ["100%", "too wide"]),
    ],
)
def test_a_model_alone(model: ModelMetrics, interval: float | None, parts: list[str]):
    (sentence,) = summary([model], interval)
    assert sentence.startswith("m: R²")
    assert all(part in sentence for part in parts)


def test_calibrated_intervals_are_not_mentioned():
    model, silent = metrics("m", [1.0, 0.95], covered=0.9), metrics("m", [1.0, 0.95])
    assert summary([model], None) == summary([silent], None)


def test_only_a_better_baseline_is_named():
    model = metrics("m", [1.0, 0.95])
    linear, worse = metrics("linear", [1.0, 0.99], "baseline"), metrics("x", [0, 0], "baseline")
    oracle = metrics("oracle", [1.0, 1.0], "oracle")
    (sentence,) = summary([model, worse, linear, oracle], None)
    assert "baseline 'linear'" in sentence and "0.9950 instead of 0.9750" in sentence
    assert "baseline" not in summary([model, worse, oracle], None)[0]
    assert summary([linear, oracle], None) == []


def test_good_models_are_compared_by_unexplained_variance():
    better, worse = metrics("h4", [1.0, 0.9999]), metrics("h1", [0.9999, 0.9995])
    sentences = summary([worse, better], None)
    assert len(sentences) == 3
    assert "h4 0.005 %, h1 0.03 %" in sentences[-1] and "one seed" in sentences[-1]
    other_horizons = metrics("long", [1.0, 0.9, 0.8])
    assert len(summary([better, other_horizons], None)) == 2
    single = metrics("x", [1.0])
    assert "h4 0.005 %, h1 0.03 %" in summary([single, worse, better], None)[-1]
    assert len(summary([better, metrics("diverged", [1.0, -np.inf])], None)) == 2


def test_several_seeds_are_compared_with_intervals():
    steps, r2 = np.arange(1, 3), np.array([[0.9, 0.8], [0.8, 0.7]])[:, :, None]
    seeds = [ModelMetrics(name, "model", steps, r2 + more) for name, more in (("a", 0), ("b", 0.1))]
    sentence = summary(seeds, None)[-1]
    assert re.search(r": b 10 ± \d+ %, a 20 ± \d+ %\.$", sentence), sentence


def test_the_short_table_has_a_line_for_each_model():
    direct = ModelMetrics("direct", "model", np.array([2]), np.array([[[0.99991]]]))
    lines = short_table([metrics("m", [1.0, 0.95]), direct]).splitlines()
    assert [line.split() for line in lines] == [
        ["R²(1)", "R²(2)", "mean", "R²", "R²", "<", "0.9", "at"],
        ["m", "1.0000", "0.9500", "0.9750", ">", "2"],
        ["direct", "–", "0.999910", "–", ">", "2"],
    ]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.98765, np.nan, "0.9877"),
        (0.5, 0.0213, "0.5000 ± 0.021"),
        (0.9999, np.nan, "0.99990"),
        (0.99000001, np.nan, "0.9900"),
        (0.9912, 0.001, "0.9912 ± 0.001"),
        (1.0, np.nan, "1.0000"),
        (-123456.0, np.nan, "-1.23e+05"),
        (-np.inf, np.nan, "−∞"),
        (np.nan, np.nan, "–"),
    ],
)
def test_r2_has_two_digits_of_what_is_unexplained(value: float, half: float, text: str):
    assert r2_text(value, half) == text
