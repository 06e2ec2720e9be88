"""How far models can be trusted, in words."""

import re

import numpy as np
import pytest

from farstep.report.verdict import verdicts
from farstep.scoring.calibration import Calibration
from farstep.scoring.score import Score


def _score(name: str, r2: list[float], kind: str = "model", held: float | None = None) -> Score:
    steps = np.arange(1, len(r2) + 1)
    calibrations = ()
    if held is not None:
        coverage = np.full((2, len(r2)), held)
        calibrations = (Calibration(coverage, np.zeros(len(r2))),)
    values = np.array(r2, np.float64)[None, :, None]
    return Score(name, kind, steps, values, calibrations=calibrations)


@pytest.mark.parametrize(
    ("score", "interval", "said"),
    [
        (_score("m", [1.0, 0.95, 0.8]), 0.5, "m: R² stays above 0.9 for 2 steps (1 s)."),
        (_score("m", [1.0, 0.95]), None, "m: R² stays above 0.9 for all 2 steps that were scored."),
        (_score("m", [0.5, 0.4]), 0.5, "m: R² is below 0.9 already 1 step(s) ahead."),
        (
            _score("m", [1.0, 0.95], held=0.07),
            None,
            "m: R² stays above 0.9 for all 2 steps that were scored; its 90 % intervals hold 7% of "
            "the states 2 steps ahead: too narrow.",
        ),
        (
            _score("m", [1.0, 0.95], held=0.9),
            None,
            "m: R² stays above 0.9 for all 2 steps that were scored.",
        ),
        (
            _score("m", [1.0, 0.95], held=1.0),
            None,
            "m: R² stays above 0.9 for all 2 steps that were scored; its 90 % intervals hold 100% "
            "of the states 2 steps ahead: too wide.",
        ),
    ],
)
def test_a_model_alone(score: Score, interval: float | None, said: str):
    assert verdicts([score], interval) == [said]


def test_a_better_baseline_is_named_and_others_are_not():
    model = _score("m", [1.0, 0.95])
    linear, worse = _score("linear", [1.0, 0.99], "baseline"), _score("x", [0.0, 0.0], "baseline")
    oracle = _score("oracle", [1.0, 1.0], "oracle")
    (said,) = verdicts([model, worse, linear, oracle], None)
    assert said.endswith("; the baseline 'linear' is better on average (R² 0.9950 for 0.9750).")
    assert "baseline" not in verdicts([model, worse, oracle], None)[0]
    assert verdicts([linear, oracle], None) == []


def test_models_that_are_all_good_are_compared_by_what_they_leave_unexplained():
    better, worse = _score("h4", [1.0, 0.9999]), _score("h1", [0.9999, 0.9995])
    said = verdicts([worse, better], None)
    assert len(said) == 3
    assert said[-1] == (
        "unexplained on average over 1 to 2 steps ahead (1 − R²): h4 0.005 %, h1 0.03 %; with one "
        "seed, this may be chance."
    )
    assert len(verdicts([better, _score("long", [1.0, 0.9, 0.8])], None)) == 2  # other horizons
    assert "h4 0.005 %, h1 0.03 %" in verdicts([_score("x", [1.0]), worse, better], None)[-1]
    steps, r2 = np.arange(1, 3), np.array([[0.9, 0.8], [0.8, 0.7]])[:, :, None]
    seeds = [Score(name, "model", steps, r2 + more) for name, more in (("a", 0.0), ("b", 0.1))]
    said = verdicts(seeds, None)[-1]
    assert re.search(r": b 10 ± \d+ %, a 20 ± \d+ %\.$", said), said
    assert len(verdicts([better, _score("lost", [1.0, -np.inf])], None)) == 2
