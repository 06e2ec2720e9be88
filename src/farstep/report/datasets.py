"""The paper's two dataset figures: distributions of returns and of each observable."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.report.figures import COLOURS, save

_COLUMNS = 5


def plot_datasets(
    datasets: Mapping[str, Episodes], out: str | Path, force: bool = False
) -> list[Path]:
    """Draw the returns and the observables of some datasets side by side.

    Args:
        datasets: Episodes by the name to show. All must have the same state names.
        out: A directory; `returns` and `states` are written there as PNG and PDF.
        force: Replace pictures that are there already.

    Returns:
        The files written. Returns are left out where no dataset has rewards.
    """
    if not datasets:
        raise FarstepError("there is no dataset to draw.")
    names = {data.signals.state_names for data in datasets.values()}
    if len(names) > 1:
        first, second = sorted(names)[:2]
        raise FarstepError(
            f"the datasets have different states ({', '.join(first)} / {', '.join(second)}); "
            "draw those of one system together."
        )
    figures = {"states": states_figure(datasets)}
    if any(data.rewards is not None for data in datasets.values()):
        figures = {"returns": returns_figure(datasets), **figures}
    return [
        path for name, figure in figures.items() for path in save(figure, Path(out) / name, force)
    ]


def returns_figure(datasets: Mapping[str, Episodes]) -> Figure:
    """Each dataset's returns as a violin, with one dot for each episode."""
    shown = {name: data.returns for name, data in datasets.items() if data.returns is not None}
    figure = Figure(figsize=(1.6 + 1.3 * len(shown), 3.6), layout="constrained")
    axes = figure.subplots()
    for place, returns in enumerate(shown.values()):
        _violin(axes, returns, place)
        # Dots spread sideways by rank, so that the picture is the same each time.
        sideways = 0.12 * np.sin(np.arange(len(returns)) * 2.399963)
        axes.scatter(place + sideways, returns, s=9, color=COLOURS[place % 8], alpha=0.8, lw=0)
        axes.text(place, 1.01, f"{len(returns)} episodes", ha="center", fontsize=7,
                  transform=axes.get_xaxis_transform())  # fmt: skip
    axes.set_xticks(range(len(shown)), list(shown), fontsize=9)
    axes.set_ylabel("return of an episode")
    return figure


def states_figure(datasets: Mapping[str, Episodes]) -> Figure:
    """One panel for each observable, a violin and the variance for each dataset."""
    signals = next(iter(datasets.values())).signals
    count = signals.num_states
    columns = min(_COLUMNS, count)
    rows = -(-count // columns)
    width = 1.1 + 0.55 * len(datasets)
    figure = Figure(figsize=(width * columns + 0.6, 2.6 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for i, panel in enumerate(panels[:count]):
        for place, data in enumerate(datasets.values()):
            values = data.states[:, i].astype(np.float64)
            _violin(panel, values, place)
            panel.text(place, 1.01, f"var {values.var():.2g}", ha="center", fontsize=6.5,
                       transform=panel.get_xaxis_transform())  # fmt: skip
        unit = f" [{signals.state_units[i]}]" if signals.state_units[i] else ""
        panel.set_title(f"{signals.state_names[i]}{unit}", fontsize=9, pad=14)
        panel.set_xticks(range(len(datasets)), list(datasets), rotation=30, ha="right", fontsize=7)
        panel.tick_params(axis="y", labelsize=7)
    for panel in panels[count:]:
        panel.set_axis_off()
    return figure


def _violin(axes: Axes, values: np.ndarray, place: int) -> None:
    """Draw one violin; values that are all the same become a line."""
    colour = COLOURS[place % len(COLOURS)]
    if np.ptp(values) == 0:
        axes.hlines(values[0], place - 0.3, place + 0.3, color=colour, lw=2)
        return
    # The outline's density needs no more points than this.
    values = np.sort(values)[:: max(1, len(values) // 20_000)]
    parts = axes.violinplot(values, [place], widths=0.8, showextrema=False, showmedians=True)
    for body in parts["bodies"]:  # pyright: ignore[reportGeneralTypeIssues]
        body.set(facecolor=colour, alpha=0.35)
    parts["cmedians"].set_color(colour)
