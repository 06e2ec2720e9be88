"""The numbers of a scoring as tables, for the terminal and the page."""

import math
from collections.abc import Sequence

import numpy as np

from farstep.report.table import Table
from farstep.scoring.calibration import LEVELS
from farstep.scoring.score import THRESHOLDS, Score
from farstep.signals import Signals

HORIZONS = (1, 10, 25, 50, 100, 200, 500, 1000)
"""Those up to H are shown, and H."""


def score_tables(scores: Sequence[Score], signals: Signals | None = None) -> list[Table]:
    """Return R² and what follows from it, errors in units, and the calibration, if known."""
    longest = max(int(score.steps[-1]) for score in scores)
    shown = sorted({horizon for horizon in (*HORIZONS, longest) if horizon <= longest})
    tables = [_r2_table(scores, shown, longest)]
    if any(score.r2_clean is not None for score in scores):
        title = "Against states without observation noise"
        tables.append(_other_table(title, "r2_clean", scores, shown))
    if any(score.r2_reward is not None for score in scores):
        tables.append(_other_table("Of the learned reward", "r2_reward", scores, shown))
    if signals is not None:
        tables.append(_rmse_table(scores, signals, shown))
    known = [score for score in scores if score.calibrations]
    if known:
        tables.append(_calibration_table(known, shown))
    several = [score for score in scores if score.variance is not None]
    if several:
        tables.append(_spread_table(several, shown))
    return tables


def number(value: float, half: float = math.nan) -> str:
    """Return R² as text, with half its interval where there is one."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    digits = 4
    if 0.99 < value < 1:  # two digits of what is missing to 1
        digits = max(4, min(1 - math.floor(math.log10(1 - value) + 1e-6), 7))
    text = f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.3g}"
    return text if math.isnan(half) else f"{text} ± {half:.2g}"


def _r2_table(scores: Sequence[Score], shown: Sequence[int], longest: int) -> Table:
    columns = [
        "",
        "seeds",
        *(f"R²({horizon})" for horizon in shown),
        "mean R²",
        *(f"< {threshold:g} at" for threshold in THRESHOLDS),
        "growth",
    ]
    rows = []
    for score in scores:
        below = [score.falls_below(threshold) for threshold in THRESHOLDS]
        rate = score.growth_rate
        rows.append(
            [
                score.name,
                str(score.seeds),
                *(number(*score.at(horizon)) for horizon in shown),
                number(*score.mean_r2) if score.steps[0] == 1 else "–",
                *(f"> {longest}" if horizon is None else str(horizon) for horizon in below),
                "–" if math.isnan(rate) else f"{rate:+.1%}",
            ]
        )
    return Table(
        f"R² 1 to {longest} steps ahead: mean, where it falls below, growth of the error a step",
        columns,
        rows,
    )


def _other_table(title: str, name: str, scores: Sequence[Score], shown: Sequence[int]) -> Table:
    """Return another R² of the scores that have it, the mean over seeds."""
    columns = ["", *(f"R²({horizon})" for horizon in shown)]
    known = [(score, getattr(score, name)) for score in scores]
    rows = [[s.name, *_picked(s, r2.mean(axis=0), shown)] for s, r2 in known if r2 is not None]
    return Table(title, columns, rows)


def _rmse_table(scores: Sequence[Score], signals: Signals, shown: Sequence[int]) -> Table:
    """Return the root mean squared error of each state, the mean over seeds, line by line."""
    rows = []
    for place, label in enumerate(signals.state_labels):
        for score in scores:
            if score.rmse_dimensions is not None:
                values = score.rmse_dimensions[:, :, place].mean(axis=0)
                rows.append([f"{label}: {score.name}", *_picked(score, values, shown, ".3g")])
    seconds = [f" ({signals.interval * j:.3g} s)" if signals.interval else "" for j in shown]
    ahead = [f"{j} ahead{after}" for j, after in zip(shown, seconds, strict=True)]
    return Table("Root mean squared error of each state, in its own unit", ["", *ahead], rows)


def _calibration_table(scores: Sequence[Score], shown: Sequence[int]) -> Table:
    columns = ["", *(f"{horizon} ahead" for horizon in shown)]
    rows = []
    for score in scores:
        coverage, crps = score.coverage, score.crps
        assert coverage is not None and crps is not None
        for level, values in zip(LEVELS, coverage, strict=True):
            rows.append(
                [f"{score.name}: inside {level:.0%}", *_picked(score, values, shown, ".0%")]
            )
        rows.append([f"{score.name}: CRPS", *_picked(score, crps, shown, ".3g")])
    return Table(
        "Calibration: states inside the 50 and 90 % intervals, and CRPS in units of their spread",
        columns,
        rows,
    )


def _spread_table(scores: Sequence[Score], shown: Sequence[int]) -> Table:
    columns = ["", *(f"{horizon} ahead" for horizon in shown)]
    rows = []
    for score in scores:
        assert score.bias is not None and score.variance is not None
        rows.append([f"{score.name}: bias²", *_picked(score, score.bias, shown, ".3g")])
        rows.append([f"{score.name}: variance", *_picked(score, score.variance, shown, ".3g")])
    return Table("Bias² and variance across seeds or members, as shares of SST", columns, rows)


def _picked(
    score: Score, values: np.ndarray, shown: Sequence[int], form: str | None = None
) -> list[str]:
    """Return the values at some horizons as text."""
    cells = []
    for horizon in shown:
        place = np.flatnonzero(score.steps == horizon)
        value = float(values[place[0]]) if len(place) else math.nan
        cells.append(number(value) if form is None or math.isnan(value) else format(value, form))
    return cells
