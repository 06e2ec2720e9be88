"""Iterated batch RL as a picture: returns and R² after each epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farstep.report.charts import COLOURS, Chart, Line, Panel, Style

_PANELS: dict[str, dict[str, tuple[str, Style]]] = {
    "return": {"return": ("real", "solid"), "imagined_return": ("imagined", "dashed")},
    "R² on the episode that follows": {
        "r2_10": ("10 steps ahead", "solid"),
        "r2_50": ("50 steps ahead", "dashed"),
    },
}


def iteration_chart(
    seeds: Sequence[Sequence[Mapping[str, Any]]], title: str, name: str, note: str = ""
) -> Chart:
    """Draw the mean over seeds against the epoch, with a band of one standard deviation."""
    length = min(len(rows) for rows in seeds)
    panels = []
    for what, kinds in _PANELS.items():
        lines = []
        for column, (label, style) in kinds.items():
            values = np.array([[row[column] for row in rows[:length]] for rows in seeds], float)
            if np.isfinite(values).any():
                colour = COLOURS[2 * len(panels) + len(lines)]  # of its own: one legend for all
                lines.append(Line.of_many(label, np.arange(length), values, colour, style))
        limits = (-0.5, 1.02) if what.startswith("R²") else None
        panels.append(Panel(what, lines, "epoch", what.split(" ")[0], y_range=limits))
    return Chart(name, title, panels, columns=2, note=note)
