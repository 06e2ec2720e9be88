"""How far each model can be trusted, in words."""

from collections.abc import Sequence

import numpy as np

from farstep.scoring.calibration import LEVELS
from farstep.scoring.score import THRESHOLDS, Score

_HELD = 0.75
"""Share of states inside the 90 % intervals below which they are called too narrow."""


def verdicts(scores: Sequence[Score], interval: float | None) -> list[str]:
    """Return a sentence for each model: how far, beside which baseline, and with what intervals.

    Args:
        scores: Of models, baselines and the oracle.
        interval: Seconds of a step, if they are known.
    """
    baselines = [score for score in scores if score.kind == "baseline"]
    return [
        "; ".join([_reach(one, interval), *_better(one, baselines), *_narrow(one)]) + "."
        for one in scores
        if one.kind == "model"
    ]


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
    return [f"the baseline '{best.name}' is better on average (R² {theirs:.4f} for {ours:.4f})"]


def _narrow(score: Score) -> list[str]:
    """Say where a model is surer of itself than it should be."""
    if score.coverage is None:
        return []
    held = float(score.coverage[LEVELS.index(0.9)][-1])
    if not held < _HELD:
        return []
    ahead = int(score.steps[-1])
    return [f"its 90 % intervals hold {held:.0%} of the states {ahead} steps ahead: too narrow"]
