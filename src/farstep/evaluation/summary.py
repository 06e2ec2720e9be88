"""An evaluation in words: a sentence for each model, and a short table."""

import math
from collections.abc import Sequence

import numpy as np

from farstep.evaluation.calibration import LEVELS
from farstep.evaluation.metrics import THRESHOLDS, ModelMetrics

_COVERAGE = (0.75, 0.97)
"""Outside this coverage, 90 % intervals are called too narrow or too wide."""


def summary(models: Sequence[ModelMetrics], interval: float | None) -> list[str]:
    """Return a sentence for each model, and one that compares them if there are several.

    A sentence gives the steps ahead with a good R², a better baseline, and intervals that are too
    narrow or too wide.

    Args:
        models: Metrics of models, baselines and the oracle.
        interval: Seconds of a step, if known.
    """
    baselines = [one for one in models if one.kind == "baseline"]
    fitted = [one for one in models if one.kind == "model"]
    sentences = [
        "; ".join([_reach(one, interval), *_better(one, baselines), *_calibrated(one)]) + "."
        for one in fitted
    ]
    return [*sentences, *_compared(fitted)]


def short_table(models: Sequence[ModelMetrics]) -> str:
    """Return one line of text for each model: R² at some horizons, and where it falls below 0.9."""
    last = max(int(one.steps[-1]) for one in models)
    horizons = sorted({horizon for horizon in (1, 10, 50, last) if horizon <= last})
    least = THRESHOLDS[0]
    rows = [["", *(f"R²({horizon})" for horizon in horizons), "mean R²", f"R² < {least:g} at"]]
    for one in models:
        below = one.falls_below(least)
        cells = [r2_text(one.at(horizon)[0]) for horizon in horizons]
        mean = r2_text(one.mean_r2[0]) if one.steps[0] == 1 else "–"
        rows.append([one.name, *cells, mean, f"> {last}" if below is None else str(below)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def r2_text(value: float, half: float = math.nan) -> str:
    """Return R² as text, with half its interval where there is one."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    digits = 4
    if 0.99 < value < 1:  # two significant digits of 1 − R²
        digits = max(4, min(1 - math.floor(math.log10(1 - value) + 1e-6), 7))
    text = f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.3g}"
    return text if math.isnan(half) else f"{text} ± {half:.2g}"


def _reach(model: ModelMetrics, interval: float | None) -> str:
    """Return up to which horizon R² is above the first threshold."""
    least, below = THRESHOLDS[0], model.falls_below(THRESHOLDS[0])
    good = model.steps if below is None else model.steps[model.steps < below]
    if not len(good):
        return f"{model.name}: R² is below {least:g} already {int(model.steps[0])} step(s) ahead"
    last = int(good[-1])
    time = "" if interval is None else f" ({last * interval:.3g} s)"
    reach = f"all {last} steps{time} of the evaluation" if below is None else f"{last} steps{time}"
    return f"{model.name}: R² stays above {least:g} for {reach}"


def _better(model: ModelMetrics, baselines: Sequence[ModelMetrics]) -> list[str]:
    """Name the best baseline if it is better on average over the same horizons."""
    same = [one for one in baselines if np.array_equal(one.steps, model.steps)]
    if not same:
        return []
    best = max(same, key=lambda one: one.mean_r2[0])
    theirs, ours = best.mean_r2[0], model.mean_r2[0]
    if not theirs > ours:
        return []
    values = f"R² {r2_text(theirs)} instead of {r2_text(ours)}"
    return [f"the baseline '{best.name}' is better on average ({values})"]


def _calibrated(model: ModelMetrics) -> list[str]:
    """Report 90 % intervals that are too narrow or too wide at the last horizon."""
    if model.coverage is None:
        return []
    covered, (least, most) = float(model.coverage[LEVELS.index(0.9)][-1]), _COVERAGE
    if least <= covered <= most or np.isnan(covered):
        return []
    ahead, fault = int(model.steps[-1]), "too narrow" if covered < least else "too wide"
    return [
        f"its 90 % intervals cover {covered:.0%} of the observations {ahead} steps ahead: {fault}"
    ]


def _compared(models: Sequence[ModelMetrics]) -> list[str]:
    """Compare 1 − R² of the models with the same horizons: good models hardly differ in R²."""
    groups = [[o for o in models if np.array_equal(o.steps, one.steps)] for one in models]
    same = max(groups, key=len, default=[])
    unexplained = sorted((1 - one.mean_r2[0], one.mean_r2[1], one.name) for one in same)
    if len(same) < 2 or not np.isfinite([share for share, *_ in unexplained]).all():
        return []
    values = ", ".join(f"{name} {_percent(share, half)}" for share, half, name in unexplained)
    chance = "" if min(one.seeds for one in same) > 1 else "; with one seed, this may be chance"
    steps = same[0].steps
    return [
        f"unexplained variance (1 − R²), mean over {steps[0]} to {steps[-1]} steps ahead: "
        f"{values}{chance}."
    ]


def _percent(share: float, half: float) -> str:
    interval = "" if np.isnan(half) else f" ± {100 * half:.2g}"
    return f"{100 * share:.3g}{interval} %"
