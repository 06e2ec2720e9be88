"""Charts of an evaluation: R² against the horizon, error growth, calibration, rollouts."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from farstep.data.signals import Signals
from farstep.evaluation.calibration import LEVELS, Calibration, critical_value
from farstep.evaluation.example_rollouts import ExampleRollouts
from farstep.evaluation.metrics import ModelMetrics, half_width
from farstep.plotting.charts import COLOURS, Chart, Line, Panel, Style, finite

_AHEAD = "steps ahead"
_LOWEST = -0.5
"""R² below this is outside the axes, so that the rest stays readable."""
_SHOWN = 4
"""Example rollouts show at most this many models."""


def evaluation_charts(
    models: Sequence[ModelMetrics], examples: ExampleRollouts, signals: Signals
) -> list[Chart]:
    """Return all charts for which there are numbers."""
    charts = [r2_chart(models), dimensions_chart(models, signals), growth_chart(models)]
    if any(model.coverage is not None for model in models):
        charts.append(calibration_chart(models))
    if any(model.variance is not None for model in models):
        charts.append(bias_variance_chart(models))
    charts.append(example_rollouts_chart(models, examples, signals))
    ahead = _AHEAD if signals.interval is None else f"{_AHEAD}, each {signals.interval:g} s"
    return [
        replace(chart, panels=[_relabelled(panel, ahead) for panel in chart.panels])
        for chart in charts
    ]


def r2_chart(
    models: Sequence[ModelMetrics], title: str = "R² against the horizon", name: str = "r2"
) -> Chart:
    """Draw R², the mean over dimensions, and R² without observation noise where it is known."""
    noisy = any(model.r2_clean is not None for model in models)
    first = "against measured observations" if noisy else ""
    panels = [_r2_panel(models, first, lambda model: model.r2)]
    if noisy:
        second = "against observations without noise"
        panels.append(_r2_panel(models, second, lambda model: model.r2_clean))
    low = panels[0].y_range[0] if panels[0].y_range else _LOWEST
    hidden = [line.name for line in panels[0].lines if not (finite(line.y) >= low).any()]
    below = f" Below the axes everywhere: {', '.join(hidden)}." if hidden else ""
    return Chart(name, title, panels, columns=2, note=(_seeds_note(models) + below).strip())


def dimensions_chart(models: Sequence[ModelMetrics], signals: Signals) -> Chart:
    """Draw R² of each observation."""
    constant = np.all([np.isnan(one.r2_dimensions).all(axis=(0, 1)) for one in models], axis=0)
    panels = [
        _r2_panel(
            models,
            f"{name}: does not vary" if constant[i] else name,
            lambda model, i=i: model.r2_dimensions[..., i],
        )
        for i, name in enumerate(signals.observation_names)
    ]
    if any(model.r2_reward is not None for model in models):
        panels.append(_r2_panel(models, "reward (learned)", lambda model: model.r2_reward))
    title = "R² of each observation"
    return Chart("dimensions", title, panels, columns=3, note=_seeds_note(models))


def growth_chart(models: Sequence[ModelMetrics]) -> Chart:
    """Draw the error on a logarithmic axis."""
    lines = _lines(models, lambda model: np.where(model.error > 0, model.error, np.nan))
    oracles = {model.name for model in models if model.kind == "oracle"}
    lowest = [
        np.nanmin(line.y)
        for line in lines
        if line.name not in oracles and np.isfinite(np.asarray(line.y)).any()
    ]
    low = max(min(lowest, default=1e-3), 1e-5)
    panel = Panel("", lines, _AHEAD, "√(1 − R²)", log=True, y_range=(low * 0.8, 3.0))
    return Chart("growth", "Error growth, in standard deviations of the observations", [panel])


def calibration_chart(models: Sequence[ModelMetrics]) -> Chart:
    """Draw the coverage of the intervals, and CRPS."""

    def parts(model: ModelMetrics, pick: Callable[[Calibration], np.ndarray]) -> np.ndarray | None:
        return np.stack([pick(one) for one in model.calibrations]) if model.calibrations else None

    panels = []
    for place, level in enumerate(LEVELS):
        lines = _lines(models, lambda m, p=place: parts(m, lambda one: one.coverage[p]))
        ends = [1, max(model.steps[-1] for model in models)]
        ideal = Line("calibrated", ends, [level, level], colour="#000000", style="dotted")
        title = f"inside the {level:.0%} interval"
        panels.append(Panel(title, [*lines, ideal], _AHEAD, "share", y_range=(0.0, 1.02)))
    crps = _lines(models, lambda m: parts(m, lambda one: one.crps))
    title = "CRPS, in standard deviations"
    panels.append(Panel(title, crps, _AHEAD, "CRPS", log=True))
    title = "Calibration against the horizon"
    return Chart("calibration", title, panels, columns=3, note=_seeds_note(models))


def bias_variance_chart(models: Sequence[ModelMetrics]) -> Chart:
    """Draw bias² and variance of seeds or of an ensemble's members."""
    panels = [
        Panel(title, _lines(models, values), _AHEAD, "share of SST", log=True)
        for title, values in (
            ("bias²", lambda model: None if model.bias is None else model.bias[None]),
            ("variance", lambda model: None if model.variance is None else model.variance[None]),
        )
    ]
    title = "Bias² and variance across seeds or members"
    return Chart("bias_variance", title, panels, columns=2)


def example_rollouts_chart(
    models: Sequence[ModelMetrics], examples: ExampleRollouts, signals: Signals
) -> Chart:
    """Draw predicted and recorded observations from a few starts; bands are 90 % intervals."""
    colours = _colours(models)
    order = [model.name for model in models if model.kind == "model"][:_SHOWN]
    order += [model.name for model in models if model.kind == "oracle"]
    panels, half_heights = [], _half_heights(examples.observed)
    for start, place in enumerate(examples.starts):
        for i, label in enumerate(signals.observation_labels):
            observed = examples.observed[start, :, i]
            lines = [Line("observed", np.arange(len(observed)), observed, colour="#000000")]
            for name in order:
                steps, mean, std = examples.predicted[name]
                y = np.append(observed[0], mean[start, :, i])
                half = None if std is None else critical_value(0.9) * std[start, :, i]
                wide = None if half is None else np.append(0, half)
                band = (None, None) if wide is None else (y - wide, y + wide)
                colour, style = colours[name]
                lines.append(Line(name, np.append(0, steps), y, *band, colour=colour, style=style))
            title = f"{place}: {label}" if i == 0 else label
            middle = float(observed.max() + observed.min()) / 2
            limits = (middle - half_heights[i], middle + half_heights[i])
            panels.append(Panel(title, lines, _AHEAD, y_range=limits))
    return Chart(
        "example_rollouts",
        "Predicted and recorded trajectories",
        panels,
        columns=signals.num_observations if signals.num_observations <= 6 else 4,
        note="Bands: 90 % intervals of the model's predictive distribution. Of several seeds the "
        f"first is drawn, of many models the first {_SHOWN}.",
    )


def _half_heights(observed: np.ndarray) -> list[float]:
    """Return half the span of each observation's y axis, the same for all starts.

    So a flat stretch looks flat. An observation that never moves gets a tenth of its size.
    """
    size = np.abs(observed).max(axis=(0, 1))
    widest = np.ptp(observed, axis=1).max(axis=0)
    still = np.where(size > 0, 0.1 * size, 1.0)
    return np.where(widest > 1e-6 * size, 0.8 * widest, still).tolist()


def _relabelled(panel: Panel, ahead: str) -> Panel:
    return replace(panel, x_label=ahead) if panel.x_label == _AHEAD else panel


def _r2_panel(
    models: Sequence[ModelMetrics],
    title: str,
    values: Callable[[ModelMetrics], np.ndarray | None],
) -> Panel:
    lines = _lines(models, values)
    lowest = [np.nanmin(line.y) for line in lines if np.isfinite(np.asarray(line.y)).any()]
    low = max(min([*lowest, 0.9]) - 0.03, _LOWEST)
    return Panel(title, lines, _AHEAD, "R²", y_range=(float(low), 1.02))


def _lines(
    models: Sequence[ModelMetrics], values: Callable[[ModelMetrics], np.ndarray | None]
) -> list[Line]:
    """Return the mean over seeds for each model that has the values, with its interval."""
    colours, lines = _colours(models), []
    for model in models:
        rows = values(model)
        if rows is None:
            continue
        colour, style = colours[model.name]
        with np.errstate(invalid="ignore"):
            mean, half = rows.mean(axis=0), half_width(rows)
            band = (mean - half, mean + half) if len(rows) > 1 else (None, None)
        lines.append(Line(model.name, model.steps, mean, *band, colour=colour, style=style))
    return lines


def _colours(models: Sequence[ModelMetrics]) -> dict[str, tuple[str, Style]]:
    """Return a colour and style for each name; models take the palette in turn."""
    fitted = [model.name for model in models if model.kind == "model"]
    palette = COLOURS[:6]
    styles: tuple[Style, ...] = ("solid", "dashed", "dotted")
    found: dict[str, tuple[str, Style]] = {
        name: (palette[i % len(palette)], styles[i // len(palette) % 3])
        for i, name in enumerate(fitted)
    }
    for model in models:
        if model.kind == "oracle":
            found[model.name] = ("#000000", "dashed")
        elif model.kind == "baseline":
            found[model.name] = ("#7f7f7f", "dotted" if model.name == "persistence" else "dashed")
    return found


def _seeds_note(models: Sequence[ModelMetrics]) -> str:
    counts = sorted({model.seeds for model in models if model.seeds > 1})
    if not counts:
        return ""
    return f"Bands: Student's 90 % interval over {' or '.join(map(str, counts))} seeds."
