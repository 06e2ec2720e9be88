"""The training curve as a picture: losses at each horizon, the weights, and the gradient."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from farstep.errors import FarstepError
from farstep.model import Model
from farstep.report.figures import save


def plot_training(model: Model, stem: str | Path, force: bool = False) -> list[Path]:
    """Draw a fitted model's training curve as `stem.png` and `stem.pdf`."""
    curves = model.record.get("curves")
    if not curves:
        raise FarstepError("the model has no training curve; a linear model is fitted at once.")
    return save(training_figure(*curves), Path(stem), force)


def training_figure(curve: Mapping[str, Any], *others: Mapping[str, Any]) -> Figure:
    """Draw losses, horizon weights and gradient norm against epochs.

    Of an ensemble's other members only the losses at h and the gradient are drawn, in grey.
    """
    figure = Figure(figsize=(10.5, 3.2), layout="constrained")
    losses, weights, gradient = figure.subplots(1, 3)
    _lines(losses, curve["validation"], "validation loss", curve["best_epoch"])
    _lines(weights, curve["weights"], "horizon weights", curve["best_epoch"])
    for other in others:
        far = [row[-1] for row in other["validation"]]
        label = "other members" if other is others[0] else None
        losses.plot(*_numbered(far), color="grey", lw=0.7, alpha=0.6, label=label)
        gradient.plot(*_numbered(other["gradient_norm"]), color="grey", lw=0.7, alpha=0.6)
    gradient.plot(*_numbered(curve["gradient_norm"]), color="black", lw=1)
    gradient.set(title="mean gradient norm", xlabel="epoch", yscale="log")
    figure.legend(*losses.get_legend_handles_labels(), loc="outside right center", fontsize=7)
    if all(value is not None and value > 0 for row in curve["validation"] for value in row):
        losses.set_yscale("log")
    return figure


def _numbered(values: list[float | None]) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, len(values) + 1), np.array(values, float)


def _lines(axes: Axes, rows: list[list[float | None]], title: str, best: int | None) -> None:
    values = np.array(rows, float)
    horizon = values.shape[1]
    colours = colormaps["viridis"](np.linspace(0, 0.9, horizon))
    for j in range(horizon):
        name = f"j = {j + 1}" if j in (0, horizon - 1) else None
        axes.plot(np.arange(1, len(values) + 1), values[:, j], color=colours[j], lw=1.2, label=name)
    if best is not None:
        axes.axvline(best + 1, color="black", lw=0.8, ls=":", label="best epoch")
    axes.set(title=title, xlabel="epoch")
