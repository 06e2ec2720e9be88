"""Figures of datasets: distributions of returns and of each observation."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.plotting.charts import COLOURS
from farstep.plotting.static import check_figure, plain, save_figure

_COLUMNS = 5
_FEW = 10


def plot_datasets(
    datasets: Mapping[str, Episodes], out: str | Path, force: bool = False
) -> list[Path]:
    """Draw the returns and the observations of some datasets side by side.

    Args:
        datasets: Episodes by the name to show. All must have the same observation names.
        out: A directory for `returns` and `observations`, each as PNG and PDF.
        force: Replace existing files.

    Returns:
        The paths of the files. Without rewards in any dataset there is no figure of returns.
    """
    if not datasets:
        raise FarstepError("datasets is empty; pass at least one dataset.")
    names = {data.signals.observation_names for data in datasets.values()}
    if len(names) > 1:
        first, second = sorted(names)[:2]
        raise FarstepError(
            f"datasets must have the same observations, not ({', '.join(first)}) and "
            f"({', '.join(second)}); draw each system separately."
        )
    drawings = {"observations": observations_figure}
    if any(data.rewards is not None for data in datasets.values()):
        drawings = {"returns": returns_figure, **drawings}
    for name in drawings:
        check_figure(Path(out) / name, force)
    figures = {name: draw(datasets) for name, draw in drawings.items()}
    return [
        path
        for name, figure in figures.items()
        for path in save_figure(figure, Path(out) / name, force)
    ]


def returns_figure(datasets: Mapping[str, Episodes]) -> Figure:
    """Draw each dataset's returns as a violin, with one dot for each episode."""
    shown = {name: data.returns for name, data in datasets.items() if data.returns is not None}
    figure = Figure(figsize=(1.6 + 1.3 * len(shown), 3.6), layout="constrained")
    axes = figure.subplots()
    for place, returns in enumerate(shown.values()):
        _violin(axes, returns, place)
        # Spread sideways without randomness, so that the figure is the same each time.
        sideways = 0.12 * np.sin(np.arange(len(returns)) * 2.399963)
        axes.scatter(place + sideways, returns, s=9, color=COLOURS[place % 8], alpha=0.8, lw=0)
        axes.text(place, 1.01, f"{len(returns)} episodes", ha="center", fontsize=7,
                  transform=axes.get_xaxis_transform())  # fmt: skip
    axes.set_xticks(range(len(shown)), [plain(name) for name in shown], fontsize=9)
    axes.set_ylabel("return of an episode (bar: median)")
    return figure


def observations_figure(datasets: Mapping[str, Episodes]) -> Figure:
    """Draw one panel for each observation, with a violin and the variance of each dataset."""
    signals = next(iter(datasets.values())).signals
    count = signals.num_observations
    columns = min(_COLUMNS, count)
    rows = -(-count // columns)
    titles = [plain(label) for label in signals.observation_labels]
    width = max(1.1 + 0.55 * len(datasets), 0.4 + 0.085 * max(map(len, titles)))
    figure = Figure(figsize=(width * columns + 0.6, 2.6 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for i, panel in enumerate(panels[:count]):
        for place, data in enumerate(datasets.values()):
            values = data.observations[:, i].astype(np.float64)
            _violin(panel, values, place)
            panel.text(place, 1.01, f"var {values.var():.2g}", ha="center", fontsize=6.5,
                       transform=panel.get_xaxis_transform())  # fmt: skip
        panel.set_title(titles[i], fontsize=9, pad=14)
        names = [plain(name) for name in datasets]
        panel.set_xticks(range(len(datasets)), names, rotation=30, ha="right", fontsize=7)
        panel.tick_params(axis="y", labelsize=7)
    figure.supxlabel("bar: median; var: variance", fontsize=7)
    for panel in panels[count:]:
        panel.set_axis_off()
    return figure


def _violin(axes: Axes, values: np.ndarray, place: int) -> None:
    """Draw one violin; for few or constant values, only the median."""
    colour = COLOURS[place % len(COLOURS)]
    if len(values) < _FEW or np.ptp(values) == 0:
        axes.hlines(np.median(values), place - 0.3, place + 0.3, color=colour, lw=2)
        return
    # The outline needs no more points than this.
    values = np.sort(values)[:: max(1, len(values) // 20_000)]
    parts = axes.violinplot(values, [place], widths=0.8, showextrema=False, showmedians=True)
    for body in parts["bodies"]:  # pyright: ignore[reportGeneralTypeIssues]
        body.set(facecolor=colour, alpha=0.35)
    parts["cmedians"].set_color(colour)
