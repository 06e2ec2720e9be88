"""Learning curves of agents: returns against steps and seconds, and what imagination says."""

from collections.abc import Mapping, Sequence

import numpy as np

from farstep.agents.curve import AgentCurve
from farstep.report.charts import COLOURS, Chart, Line, Panel, finite

_RETURNS = {
    "real_return": ("real", "solid"),
    "imagined_return": ("imagined", "dashed"),
    "careful_return": ("imagined, less the penalty", "dashdot"),
    "training_return": ("in training", "dotted"),
}


def curve_chart(
    curves: Mapping[str, Sequence[AgentCurve]],
    title: str,
    name: str,
    axes: Sequence[str] = ("steps", "seconds"),
) -> Chart:
    """Draw returns against some columns of the curves; one colour for each name.

    Several curves of one name are seeds: their mean is drawn, and their lowest and highest.
    """
    shown = {kind: style for kind, style in _RETURNS.items() if _any(curves, kind)}
    panels = [
        Panel(f"return against {axis}", _lines(curves, axis, shown), axis, "return")
        for axis in (name.replace("_", " ") for name in axes)
    ]
    if _any(curves, "bounded"):
        about = {"bounded": ("at the bounds", "solid")}
        panels.append(
            Panel("share of steps at the bounds", _lines(curves, "steps", about), "steps")
        )
    if _any(curves, "strangeness"):
        about = {"strangeness": ("distance from the data", "solid")}
        panels.append(
            Panel("distance from the data (1: usual)", _lines(curves, "steps", about), "steps")
        )
    return Chart(name, title, panels, columns=2)


def _any(curves: Mapping[str, Sequence[AgentCurve]], kind: str) -> bool:
    return any(
        np.isfinite(curve.column(kind)).any() for several in curves.values() for curve in several
    )


def _lines(
    curves: Mapping[str, Sequence[AgentCurve]], axis: str, kinds: Mapping[str, tuple[str, str]]
) -> list[Line]:
    lines = []
    for number, (name, several) in enumerate(curves.items()):
        length = min(len(curve.rows) for curve in several)
        x = np.mean([curve.column(axis.replace(" ", "_"))[:length] for curve in several], axis=0)
        for kind, (what, style) in kinds.items():
            values = finite([curve.column(kind)[:length] for curve in several])
            if not np.isfinite(values).any():
                continue
            lines.append(
                Line(
                    f"{name}: {what}" if name else what,
                    x,
                    values.mean(axis=0),
                    low=values.min(axis=0) if len(several) > 1 else None,
                    high=values.max(axis=0) if len(several) > 1 else None,
                    colour=COLOURS[number % len(COLOURS)],
                    style=style,  # pyright: ignore[reportArgumentType]
                )
            )
    return lines
