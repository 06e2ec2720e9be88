"""How far each model can be trusted, and which leaves least unexplained, in words."""

from collections.abc import Sequence

import numpy as np

from farstep.report.score_table import number
from farstep.scoring.calibration import LEVELS
from farstep.scoring.score import THRESHOLDS, Score

_HELD = (0.75, 0.97)
"""Shares of states inside the 90 % intervals beyond which they are called too narrow or wide."""


def verdicts(scores: Sequence[Score], interval: float | None) -> list[str]:
    """Return a sentence for each model, and one that compares them if there are several.

    A model's says how far it reaches, beside which baseline, and with what intervals.

    Args:
        scores: Of models, baselines and the oracle.
        interval: Seconds of a step, if they are known.
    """
    baselines = [score for score in scores if score.kind == "baseline"]
    models = [score for score in scores if score.kind == "model"]
    each = [
        "; ".join([_reach(one, interval), *_better(one, baselines), *_calibrated(one)]) + "."
        for one in models
    ]
    return [*each, *_compared(models)]


def _reach(score: Score, interval: float | None) -> str:
    """Say up to which horizon R² is above the first threshold."""
    least, below = THRESHOLDS[0], score.falls_below(THRESHOLDS[0])
    good = score.steps if below is None else score.steps[score.steps < below]
    if not len(good):
        first = int(score.steps[0])
        return f"{score.name}: R² is below {least:g} already {first} step(s) ahead"
    last = int(good[-1])
    time = "" if interval is None else f" ({last * interval:.3g} s)"
    reach = f"all {last} steps{time} that were scored" if below is None else f"{last} steps{time}"
    return f"{score.name}: R² stays above {least:g} for {reach}"


def _better(score: Score, baselines: Sequence[Score]) -> list[str]:
    """Name the best baseline if it is better on average over the same horizons."""
    same = [one for one in baselines if np.array_equal(one.steps, score.steps)]
    if not same:
        return []
    best = max(same, key=lambda one: one.mean_r2[0])
    theirs, ours = best.mean_r2[0], score.mean_r2[0]
    if not theirs > ours:
        return []
    shown = f"R² {number(theirs)} for {number(ours)}"
    return [f"the baseline '{best.name}' is better on average ({shown})"]


def _calibrated(score: Score) -> list[str]:
    """Say where a model is surer of itself than it should be, or less sure."""
    if score.coverage is None:
        return []
    held, (least, most) = float(score.coverage[LEVELS.index(0.9)][-1]), _HELD
    if least <= held <= most or np.isnan(held):
        return []
    ahead, fault = int(score.steps[-1]), "too narrow" if held < least else "too wide"
    return [f"its 90 % intervals hold {held:.0%} of the states {ahead} steps ahead: {fault}"]


def _compared(models: Sequence[Score]) -> list[str]:
    """Say what models leave unexplained: where all are good, their R² hardly differ."""
    groups = [[o for o in models if np.array_equal(o.steps, one.steps)] for one in models]
    same = max(groups, key=len, default=[])
    left = sorted((1 - one.mean_r2[0], one.mean_r2[1], one.name) for one in same)
    if len(same) < 2 or not np.isfinite([share for share, *_ in left]).all():
        return []
    shown = ", ".join(f"{name} {_percent(share, half)}" for share, half, name in left)
    chance = "" if min(one.seeds for one in same) > 1 else "; with one seed, this may be chance"
    steps = same[0].steps
    return [
        f"unexplained on average over {steps[0]} to {steps[-1]} steps ahead (1 − R²): "
        f"{shown}{chance}."
    ]


def _percent(share: float, half: float) -> str:
    interval = "" if np.isnan(half) else f" ± {100 * half:.2g}"
    return f"{100 * share:.3g}{interval} %"
