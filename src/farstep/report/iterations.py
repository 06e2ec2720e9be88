"""Iterated batch RL as a picture: returns and R² after each epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from farstep.report.charts import COLOURS, Chart, Line, Panel, Style, finite

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
            values = finite(
                np.array([[row[column] for row in rows[:length]] for rows in seeds], np.float64)
            )
            if np.isnan(values).all():
                continue
            known = np.ma.masked_invalid(values)
            mean, std = (np.ma.filled(one(axis=0), np.nan) for one in (known.mean, known.std))
            colour = COLOURS[0] if style == "solid" else COLOURS[1]
            epochs = np.arange(length)
            lines.append(Line(label, epochs, mean, mean - std, mean + std, colour, style))
        limits = (-0.5, 1.02) if what.startswith("R²") else None
        panels.append(Panel(what, lines, "epoch", what.split(" ")[0], y_range=limits))
    return Chart(name, title, panels, columns=2, note=note)
