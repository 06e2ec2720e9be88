"""Learning curves of fits, of agents, and of iterated model-based reinforcement learning."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from farstep.agents.learning_curve import AgentCurve
from farstep.errors import FarstepError
from farstep.models.model import Model
from farstep.plotting.charts import COLOURS, Chart, Line, Panel, Style, finite
from farstep.plotting.static import save_figure

_RETURNS: dict[str, tuple[str, Style]] = {
    "real_return": ("real", "solid"),
    "imagined_return": ("imagined", "dashed"),
    "penalised_return": ("imagined, penalised", "dashdot"),
    "training_return": ("in training", "dotted"),
}
_DIAGNOSTICS: dict[str, tuple[str, str]] = {
    "out_of_bounds": ("share of steps out of bounds", "out of bounds"),
    "data_distance": ("distance from the data (1: usual)", "distance from the data"),
}
_ITERATION_PANELS: dict[str, dict[str, tuple[str, Style]]] = {
    "return": {"return": ("real", "solid"), "imagined_return": ("imagined", "dashed")},
    "R² on the next episode": {
        "r2_10": ("10 steps ahead", "solid"),
        "r2_50": ("50 steps ahead", "dashed"),
    },
}


def plot_training(model: Model, stem: str | Path, force: bool = False) -> list[Path]:
    """Draw a fitted model's training curve as `stem.png` and `stem.pdf`."""
    curves = model.record.get("curves")
    if not curves:
        raise FarstepError(
            "model has no training curve: linear models are fitted in closed form; "
            "pass a fitted network."
        )
    return save_figure(training_figure(*curves), Path(stem), force)


def training_figure(curve: Mapping[str, Any], *others: Mapping[str, Any]) -> Figure:
    """Draw losses, horizon weights and gradient norm against epochs.

    Args:
        curve: The curve of a model, or of an ensemble's first member.
        others: Curves of the other members; only their loss at horizon h and their gradient are
            drawn, in grey.
    """
    figure = Figure(figsize=(10.5, 3.2), layout="constrained")
    losses, weights, gradient = figure.subplots(1, 3)
    _draw_horizons(losses, curve["validation"], "validation loss", curve["best_epoch"])
    _draw_horizons(weights, curve["weights"], "horizon weights", curve["best_epoch"])
    for other in others:
        last = [row[-1] for row in other["validation"]]
        label = "other members" if other is others[0] else None
        losses.plot(*_numbered(last), color="grey", lw=0.7, alpha=0.6, label=label)
        gradient.plot(*_numbered(other["gradient_norm"]), color="grey", lw=0.7, alpha=0.6)
    gradient.plot(*_numbered(curve["gradient_norm"]), color="black", lw=1)
    gradient.set(title="mean gradient norm", xlabel="epoch", yscale="log")
    figure.legend(*losses.get_legend_handles_labels(), loc="outside right center", fontsize=7)
    if all(value is not None and value > 0 for row in curve["validation"] for value in row):
        losses.set_yscale("log")
    return figure


def _numbered(values: list[float | None]) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, len(values) + 1), np.array(values, float)


def _draw_horizons(
    axes: Axes, rows: list[list[float | None]], title: str, best: int | None
) -> None:
    """Draw a line for each horizon, and mark the best epoch."""
    values = np.array(rows, float)
    horizon = values.shape[1]
    colours = colormaps["viridis"](np.linspace(0, 0.9, horizon))
    for j in range(horizon):
        name = f"j = {j + 1}" if j in (0, horizon - 1) else None
        axes.plot(np.arange(1, len(values) + 1), values[:, j], color=colours[j], lw=1.2, label=name)
    if best is not None:
        axes.axvline(best + 1, color="black", lw=0.8, ls=":", label="best epoch")
    axes.set(title=title, xlabel="epoch")


def agent_chart(
    curves: Mapping[str, Sequence[AgentCurve]],
    title: str,
    name: str,
    axes: Sequence[str] = ("steps", "seconds"),
) -> Chart:
    """Draw agents' returns against some columns of their curves; one colour for each name.

    Several curves of one name are seeds: the line is their mean, the band their range.
    """
    returns = {column: style for column, style in _RETURNS.items() if _any(curves, column)}
    panels = [
        Panel(f"return against {axis}", _lines(curves, axis, returns), axis, "return")
        for axis in (axis.replace("_", " ") for axis in axes)
    ]
    for column, (panel_title, label) in _DIAGNOSTICS.items():
        if _any(curves, column):
            lines = _lines(curves, "steps", {column: (label, "solid")})
            panels.append(Panel(panel_title, lines, "steps"))
    return Chart(name, title, panels, columns=2)


def _any(curves: Mapping[str, Sequence[AgentCurve]], column: str) -> bool:
    return any(
        np.isfinite(curve.column(column)).any() for several in curves.values() for curve in several
    )


def _lines(
    curves: Mapping[str, Sequence[AgentCurve]],
    axis: str,
    columns: Mapping[str, tuple[str, Style]],
) -> list[Line]:
    lines = []
    for number, (name, several) in enumerate(curves.items()):
        length = min(len(curve.rows) for curve in several)
        x = np.mean([curve.column(axis.replace(" ", "_"))[:length] for curve in several], axis=0)
        for column, (label, style) in columns.items():
            values = finite([curve.column(column)[:length] for curve in several])
            if not np.isfinite(values).any():
                continue
            lines.append(
                Line(
                    f"{name}: {label}" if name else label,
                    x,
                    values.mean(axis=0),
                    low=values.min(axis=0) if len(several) > 1 else None,
                    high=values.max(axis=0) if len(several) > 1 else None,
                    colour=COLOURS[number % len(COLOURS)],
                    style=style,
                )
            )
    return lines


def iteration_chart(
    seeds: Sequence[Sequence[Mapping[str, Any]]], title: str, name: str, note: str = ""
) -> Chart:
    """Draw returns and R² after each real episode of `iterate`.

    The lines are means over seeds, the bands one standard deviation.
    """
    length = min(len(rows) for rows in seeds)
    panels = []
    for panel_title, columns in _ITERATION_PANELS.items():
        lines = []
        for column, (label, style) in columns.items():
            values = np.array([[row[column] for row in rows[:length]] for rows in seeds], float)
            if np.isfinite(values).any():
                colour = COLOURS[2 * len(panels) + len(lines)]  # unique: one legend for all panels
                lines.append(Line.of_many(label, np.arange(length), values, colour, style))
        limits = (-0.5, 1.02) if panel_title.startswith("R²") else None
        y_label = panel_title.split(" ")[0]
        panels.append(Panel(panel_title, lines, "episode", y_label, y_range=limits))
    return Chart(name, title, panels, columns=2, note=note)
