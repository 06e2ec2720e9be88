"""Charts and tables of an evaluation: what is shown, in which units, and what is left out."""

import dataclasses

import numpy as np
import pytest

from farstep.data.signals import Signals
from farstep.evaluation.calibration import Calibration, critical_value
from farstep.evaluation.example_rollouts import ExampleRollouts, PredictedRollouts
from farstep.evaluation.metrics import Kind, ModelMetrics
from farstep.plotting.charts import Chart
from farstep.plotting.evaluation_charts import evaluation_charts
from farstep.plotting.evaluation_tables import evaluation_tables

SIGNALS = Signals(("level", "flow"), ("valve",), ("cm", "l/s"), interval=0.5)
STEPS = np.arange(1, 5)
R2 = np.array([[1.0, 0.98, 0.96, 0.8], [1.0, 0.96, 0.94, 0.9]])


def _metrics(name: str, kind: Kind = "model", r2: np.ndarray = R2) -> ModelMetrics:
    """Return metrics of two seeds in which the level does not vary."""
    both = np.stack([np.full_like(r2, np.nan), r2], axis=-1)
    return ModelMetrics(name, kind, STEPS, both, rmse_dimensions=np.ones((2, 4, 2)))


def _full(name: str) -> ModelMetrics:
    return dataclasses.replace(
        _metrics(name),
        r2_clean_dimensions=np.full((2, 4, 2), 0.99),
        r2_reward=np.full((2, 4), 0.5),
        bias=np.full(4, 0.02),
        variance=np.full(4, 0.01),
        calibrations=(Calibration(np.full((2, 4), 0.9), np.full(4, 0.1)),) * 2,
    )


def _examples(*names: str) -> ExampleRollouts:
    observed = np.stack([np.full((1, 5), 2.0), np.arange(5.0)[None]], axis=-1)
    std = np.full((1, 4, 2), 0.5)
    predicted = {name: PredictedRollouts(STEPS, observed[:, 1:], std) for name in names}
    return ExampleRollouts(["episode 0, step 3"], observed, predicted)


def _charts(*models: ModelMetrics) -> dict[str, Chart]:
    names = [one.name for one in models if one.kind != "baseline"]
    return {one.name: one for one in evaluation_charts(models, _examples(*names), SIGNALS)}


def test_charts_without_numbers_are_left_out():
    assert list(_charts(_metrics("m"))) == ["r2", "dimensions", "growth", "example_rollouts"]
    charts = _charts(_full("m"), _metrics("persistence", "baseline"))
    assert list(charts) == [
        *("r2", "dimensions", "growth", "calibration", "bias_variance", "example_rollouts"),
    ]
    assert [panel.title for panel in charts["r2"].panels] == [
        "against measured observations",
        "against observations without noise",
    ]
    assert [len(panel.lines) for panel in charts["r2"].panels] == [2, 1]
    titles = [panel.title for panel in charts["dimensions"].panels]
    assert titles == ["level: does not vary", "flow", "reward (learned)"]
    labels = {panel.x_label for chart in charts.values() for panel in chart.panels}
    assert labels == {"steps ahead, each 0.5 s"}


def test_a_line_is_the_mean_over_seeds_with_students_interval():
    chart = _charts(_metrics("m"))["r2"]
    (line,) = chart.panels[0].lines
    np.testing.assert_allclose(np.asarray(line.y), R2.mean(axis=0))
    assert line.low is not None and line.high is not None
    half = 6.3138 * R2.std(axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_allclose(np.asarray(line.high) - np.asarray(line.y), half, rtol=1e-4)
    assert "2 seeds" in chart.note


def test_a_model_below_the_axes_is_named_below_the_chart():
    chart = _charts(_metrics("good"), _metrics("bad", r2=np.full((2, 4), -9.0)))["r2"]
    assert "bad" in chart.note and "good" not in chart.note
    diverged = _charts(_metrics("wild", r2=np.full((2, 4), -np.inf)))
    assert all(np.isnan(np.asarray(panel.y_range)).sum() == 0 for panel in diverged["r2"].panels)
    assert not any("vary" in panel.title for panel in diverged["dimensions"].panels[1:])


def test_rollouts_have_bands_and_an_axis_of_their_own():
    (level, flow) = _charts(_metrics("m"))["example_rollouts"].panels
    assert (level.title, flow.title) == ("episode 0, step 3: level [cm]", "flow [l/s]")
    assert level.y_range == pytest.approx((1.8, 2.2))  # it does not move: a tenth of its size
    observed, predicted = flow.lines
    np.testing.assert_array_equal(observed.y, np.arange(5.0))
    np.testing.assert_array_equal(predicted.y, np.arange(5.0))
    assert predicted.high is not None
    wide = np.asarray(predicted.high) - np.asarray(predicted.y)
    np.testing.assert_allclose(wide, [0, *[0.5 * critical_value(0.9)] * 4])


def test_models_have_colours_of_their_own_and_references_are_grey_or_black():
    models = [_metrics(f"m{number}") for number in range(8)]
    references = [_metrics("persistence", "baseline"), _metrics("oracle", "oracle")]
    lines = _charts(*models, *references)["r2"].panels[0].lines
    assert len({(line.colour, line.style) for line in lines}) == 10
    assert [line.colour for line in lines[-2:]] == ["#7f7f7f", "#000000"]
    shown = _charts(*models, *references)["example_rollouts"].panels[0].lines
    assert [line.name for line in shown] == ["observed", "m0", "m1", "m2", "m3", "oracle"]


def test_tables_have_the_numbers_of_each_model():
    tables = evaluation_tables([_full("m"), _metrics("persistence", "baseline")], SIGNALS)
    r2, clean, reward, rmse, calibrated, parts = tables
    assert r2.columns[:5] == ["", "seeds", "R²(1)", "R²(4)", "mean R²"]
    assert r2.rows[0][:2] == ["m", "2"] and r2.rows[0][3].startswith("0.8500 ± ")
    assert r2.rows[0][5] == "4"  # the first step below 0.9
    assert clean.rows == [["m", "0.9900", "0.9900"]]
    assert reward.rows == [["m", "0.5000", "0.5000"]]
    assert rmse.columns == ["", "1 ahead (0.5 s)", "4 ahead (2 s)"]
    assert [row[0] for row in rmse.rows] == [
        *("level [cm]: m", "level [cm]: persistence", "flow [l/s]: m", "flow [l/s]: persistence")
    ]
    assert calibrated.rows[1] == ["m: inside 90%", "90%", "90%"]
    assert parts.rows == [["m: bias²", "0.02", "0.02"], ["m: variance", "0.01", "0.01"]]
    assert len(evaluation_tables([_metrics("m")])) == 1
