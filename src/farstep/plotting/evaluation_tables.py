"""Tables of an evaluation, for the terminal and the HTML report."""

import math
from collections.abc import Sequence

import numpy as np

from farstep.data.signals import Signals
from farstep.evaluation.calibration import LEVELS
from farstep.evaluation.metrics import THRESHOLDS, ModelMetrics
from farstep.evaluation.summary import r2_text
from farstep.plotting.charts import Table

HORIZONS = (1, 10, 25, 50, 100, 200, 500, 1000)
"""Tables show these horizons, up to H, and H."""


def evaluation_tables(
    models: Sequence[ModelMetrics], signals: Signals | None = None
) -> list[Table]:
    """Return tables of R², errors in units of the observations, calibration, bias and variance.

    Tables without numbers are left out; without `signals`, the errors in units are too.
    """
    longest = max(int(model.steps[-1]) for model in models)
    shown = sorted({horizon for horizon in (*HORIZONS, longest) if horizon <= longest})
    tables = [_r2_table(models, shown, longest)]
    if any(model.r2_clean is not None for model in models):
        title = "R² against observations without noise"
        tables.append(_other_r2_table(title, "r2_clean", models, shown))
    if any(model.r2_reward is not None for model in models):
        title = "R² of the learned reward"
        tables.append(_other_r2_table(title, "r2_reward", models, shown))
    if signals is not None:
        tables.append(_rmse_table(models, signals, shown))
    calibrated = [model for model in models if model.calibrations]
    if calibrated:
        tables.append(_calibration_table(calibrated, shown))
    several = [model for model in models if model.variance is not None]
    if several:
        tables.append(_bias_variance_table(several, shown))
    return tables


def _r2_table(models: Sequence[ModelMetrics], shown: Sequence[int], longest: int) -> Table:
    columns = [
        "",
        "seeds",
        *(f"R²({horizon})" for horizon in shown),
        "mean R²",
        *(f"< {threshold:g} at" for threshold in THRESHOLDS),
        "growth",
    ]
    rows = []
    for model in models:
        below = [model.falls_below(threshold) for threshold in THRESHOLDS]
        rate = model.growth_rate
        rows.append(
            [
                model.name,
                str(model.seeds),
                *(r2_text(*model.at(horizon)) for horizon in shown),
                r2_text(*model.mean_r2) if model.steps[0] == 1 else "–",
                *(f"> {longest}" if horizon is None else str(horizon) for horizon in below),
                "–" if math.isnan(rate) else f"{rate:+.1%}",
            ]
        )
    title = f"R² 1 to {longest} steps ahead, first step below a threshold, error growth per step"
    return Table(title, columns, rows)


def _other_r2_table(
    title: str, attribute: str, models: Sequence[ModelMetrics], shown: Sequence[int]
) -> Table:
    """Return another R² of the models that have it, the mean over seeds."""
    columns = ["", *(f"R²({horizon})" for horizon in shown)]
    known = [(model, getattr(model, attribute)) for model in models]
    rows = [[m.name, *_cells(m, r2.mean(axis=0), shown)] for m, r2 in known if r2 is not None]
    return Table(title, columns, rows)


def _rmse_table(models: Sequence[ModelMetrics], signals: Signals, shown: Sequence[int]) -> Table:
    """Return the root mean squared error of each observation, the mean over seeds."""
    rows = []
    for place, label in enumerate(signals.observation_labels):
        for model in models:
            if model.rmse_dimensions is not None:
                values = model.rmse_dimensions[:, :, place].mean(axis=0)
                rows.append([f"{label}: {model.name}", *_cells(model, values, shown, ".3g")])
    seconds = [f" ({signals.interval * j:.3g} s)" if signals.interval else "" for j in shown]
    ahead = [f"{j} ahead{after}" for j, after in zip(shown, seconds, strict=True)]
    return Table("Root mean squared error of each observation, in its own unit", ["", *ahead], rows)


def _calibration_table(models: Sequence[ModelMetrics], shown: Sequence[int]) -> Table:
    columns = ["", *(f"{horizon} ahead" for horizon in shown)]
    rows = []
    for model in models:
        coverage, crps = model.coverage, model.crps
        assert coverage is not None and crps is not None
        for level, values in zip(LEVELS, coverage, strict=True):
            rows.append([f"{model.name}: inside {level:.0%}", *_cells(model, values, shown, ".0%")])
        rows.append([f"{model.name}: CRPS", *_cells(model, crps, shown, ".3g")])
    title = "Calibration: coverage of the 50 and 90 % intervals, and CRPS in standard deviations"
    return Table(title, columns, rows)


def _bias_variance_table(models: Sequence[ModelMetrics], shown: Sequence[int]) -> Table:
    columns = ["", *(f"{horizon} ahead" for horizon in shown)]
    rows = []
    for model in models:
        assert model.bias is not None and model.variance is not None
        rows.append([f"{model.name}: bias²", *_cells(model, model.bias, shown, ".3g")])
        rows.append([f"{model.name}: variance", *_cells(model, model.variance, shown, ".3g")])
    return Table("Bias² and variance across seeds or members, as shares of SST", columns, rows)


def _cells(
    model: ModelMetrics, values: np.ndarray, shown: Sequence[int], form: str | None = None
) -> list[str]:
    """Return the values at some horizons as text."""
    cells = []
    for horizon in shown:
        place = np.flatnonzero(model.steps == horizon)
        value = float(values[place[0]]) if len(place) else math.nan
        cells.append(r2_text(value) if form is None or math.isnan(value) else format(value, form))
    return cells
