"""The charts of a scoring: R² against horizon, error growth, calibration, trajectories."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from farstep.report.charts import COLOURS, Chart, Line, Panel, Style, finite
from farstep.scoring.calibration import LEVELS, Calibration, reach
from farstep.scoring.intervals import half_width
from farstep.scoring.score import Score
from farstep.scoring.trajectories import Trajectories
from farstep.signals import Signals

_AHEAD = "steps ahead"
_LOWEST = -0.5
"""R² further below zero is cut off: the rest of the picture would be squeezed."""
_SHOWN = 4
"""Models, at most, in the picture of trajectories."""


def score_charts(
    scores: Sequence[Score], trajectories: Trajectories, signals: Signals
) -> list[Chart]:
    """Return all charts for which there are numbers."""
    charts = [r2_chart(scores), dimensions_chart(scores, signals), growth_chart(scores)]
    if any(score.coverage is not None for score in scores):
        charts.append(calibration_chart(scores))
    if any(score.variance is not None for score in scores):
        charts.append(spread_chart(scores))
    charts.append(trajectories_chart(scores, trajectories, signals))
    ahead = _AHEAD if signals.interval is None else f"{_AHEAD}, each {signals.interval:g} s"
    return [
        replace(chart, panels=[_relabelled(panel, ahead) for panel in chart.panels])
        for chart in charts
    ]


def r2_chart(scores: Sequence[Score], title: str = "R² against horizon", name: str = "r2") -> Chart:
    """R², the mean over dimensions; also against states without noise where they are known."""
    noisy = any(score.r2_clean is not None for score in scores)
    first = "against observed states" if noisy else ""
    panels = [_r2_panel(scores, first, lambda score: score.r2)]
    if noisy:
        panels.append(_r2_panel(scores, "against states without noise", lambda s: s.r2_clean))
    low = panels[0].y_range[0] if panels[0].y_range else _LOWEST
    hidden = [line.name for line in panels[0].lines if not (finite(line.y) >= low).any()]
    below = f" Below the axis throughout: {', '.join(hidden)}." if hidden else ""
    return Chart(name, title, panels, columns=2, note=(_seeds_note(scores) + below).strip())


def dimensions_chart(scores: Sequence[Score], signals: Signals) -> Chart:
    """R² of each state dimension."""
    constant = np.all([np.isnan(one.r2_dimensions).all(axis=(0, 1)) for one in scores], axis=0)
    panels = [
        _r2_panel(
            scores,
            f"{name}: does not vary" if constant[i] else name,
            lambda score, i=i: score.r2_dimensions[..., i],
        )
        for i, name in enumerate(signals.state_names)
    ]
    if any(score.r2_reward is not None for score in scores):
        panels.append(_r2_panel(scores, "reward (learned)", lambda score: score.r2_reward))
    title = "R² of each state dimension"
    return Chart("dimensions", title, panels, columns=3, note=_seeds_note(scores))


def growth_chart(scores: Sequence[Score]) -> Chart:
    """The error on a logarithmic axis."""
    lines = _lines(scores, lambda score: np.where(score.error > 0, score.error, np.nan))
    learned = {score.name for score in scores if score.kind != "oracle"}
    shown = [
        np.nanmin(line.y)
        for line in lines
        if line.name in learned and np.isfinite(np.asarray(line.y)).any()
    ]
    lowest = max(min(shown, default=1e-3), 1e-5)
    panel = Panel("", lines, _AHEAD, "√(1 − R²)", log=True, y_range=(lowest * 0.8, 3.0))
    return Chart("growth", "Growth of the error, in units of the state's spread", [panel])


def calibration_chart(scores: Sequence[Score]) -> Chart:
    """Coverage of the intervals, and CRPS."""

    def parts(score: Score, pick: Callable[[Calibration], np.ndarray]) -> np.ndarray | None:
        return np.stack([pick(one) for one in score.calibrations]) if score.calibrations else None

    panels = []
    for place, level in enumerate(LEVELS):
        lines = _lines(scores, lambda s, p=place: parts(s, lambda one: one.coverage[p]))
        ends = [1, max(score.steps[-1] for score in scores)]
        lines.append(
            Line("as it should be", ends, [level, level], colour="#000000", style="dotted")
        )
        title = f"inside the {level:.0%} interval"
        panels.append(Panel(title, lines, _AHEAD, "share", y_range=(0.0, 1.02)))
    crps = _lines(scores, lambda s: parts(s, lambda one: one.crps))
    panels.append(Panel("CRPS, in units of the state's spread", crps, _AHEAD, "CRPS", log=True))
    title = "Calibration against horizon"
    return Chart("calibration", title, panels, columns=3, note=_seeds_note(scores))


def spread_chart(scores: Sequence[Score]) -> Chart:
    """Bias² and variance of seeds or of an ensemble's members."""
    panels = [
        Panel(title, _lines(scores, values), _AHEAD, "share of SST", log=True)
        for title, values in (
            ("bias²", lambda score: None if score.bias is None else score.bias[None]),
            ("variance", lambda score: None if score.variance is None else score.variance[None]),
        )
    ]
    title = "Bias² and variance across seeds or members"
    return Chart("spread", title, panels, columns=2)


def trajectories_chart(
    scores: Sequence[Score], trajectories: Trajectories, signals: Signals
) -> Chart:
    """Imagined against true states from a few starts; bands are 90 % intervals."""
    colours = _colours(scores)
    order = [score.name for score in scores if score.kind == "model"][:_SHOWN]
    order += [score.name for score in scores if score.kind == "oracle"]
    panels, halves = [], _half_heights(trajectories.truth)
    for start, place in enumerate(trajectories.places):
        for i, label in enumerate(signals.state_labels):
            truth = trajectories.truth[start, :, i]
            lines = [Line("observed", np.arange(len(truth)), truth, colour="#000000")]
            for one in order:
                steps, mean, std = trajectories.imagined[one]
                y = np.append(truth[0], mean[start, :, i])
                wide = None if std is None else np.append(0, reach(0.9) * std[start, :, i])
                band = (None, None) if wide is None else (y - wide, y + wide)
                colour, style = colours[one]
                lines.append(Line(one, np.append(0, steps), y, *band, colour=colour, style=style))
            title = f"{place}: {label}" if i == 0 else label
            middle = float(truth.max() + truth.min()) / 2
            limits = (middle - halves[i], middle + halves[i])
            panels.append(Panel(title, lines, _AHEAD, y_range=limits))
    return Chart(
        "trajectories",
        "Imagined and true trajectories",
        panels,
        columns=signals.num_states if signals.num_states <= 6 else 4,
        note="Bands: 90 % intervals of the model's own predictive distribution. Of several seeds "
        f"the first is shown, of many models the first {_SHOWN}.",
    )


def _half_heights(truth: np.ndarray) -> list[float]:
    """Return half of what each dimension's axis spans, from every start.

    It is one for all starts, so that a dimension that hardly moves is seen to do so; a tenth of
    its size where it never does.
    """
    size = np.abs(truth).max(axis=(0, 1))
    widest = np.ptp(truth, axis=1).max(axis=0)
    still = np.where(size > 0, 0.1 * size, 1.0)
    return np.where(widest > 1e-6 * size, 0.8 * widest, still).tolist()


def _relabelled(panel: Panel, ahead: str) -> Panel:
    return replace(panel, x_label=ahead) if panel.x_label == _AHEAD else panel


def _r2_panel(
    scores: Sequence[Score], title: str, values: Callable[[Score], np.ndarray | None]
) -> Panel:
    lines = _lines(scores, values)
    lowest = [np.nanmin(line.y) for line in lines if np.isfinite(np.asarray(line.y)).any()]
    low = max(min([*lowest, 0.9]) - 0.03, _LOWEST)
    return Panel(title, lines, _AHEAD, "R²", y_range=(float(low), 1.02))


def _lines(scores: Sequence[Score], values: Callable[[Score], np.ndarray | None]) -> list[Line]:
    """Return the mean over seeds of each score, with its interval."""
    colours, lines = _colours(scores), []
    for score in scores:
        found = values(score)
        if found is None:
            continue
        colour, style = colours[score.name]
        with np.errstate(invalid="ignore"):
            mean, half = found.mean(axis=0), half_width(found)
            band = (mean - half, mean + half) if len(found) > 1 else (None, None)
        lines.append(Line(score.name, score.steps, mean, *band, colour=colour, style=style))
    return lines


def _colours(scores: Sequence[Score]) -> dict[str, tuple[str, Style]]:
    """Return a colour and style for each name; models go through the palette."""
    models = [score.name for score in scores if score.kind == "model"]
    palette = COLOURS[:6]
    styles: tuple[Style, ...] = ("solid", "dashed", "dotted")
    found: dict[str, tuple[str, Style]] = {
        name: (palette[i % len(palette)], styles[i // len(palette) % 3])
        for i, name in enumerate(models)
    }
    for score in scores:
        if score.kind == "oracle":
            found[score.name] = ("#000000", "dashed")
        elif score.kind == "baseline":
            found[score.name] = ("#7f7f7f", "dotted" if score.name == "persistence" else "dashed")
    return found


def _seeds_note(scores: Sequence[Score]) -> str:
    counts = sorted({score.seeds for score in scores if score.seeds > 1})
    if not counts:
        return ""
    return f"Bands: Student's 90 % interval over {' or '.join(map(str, counts))} seeds."
