"""Charts as PNG and PDF files, drawn by Matplotlib."""

import io
import textwrap
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from farstep.plotting.charts import Chart, Panel, finite
from farstep.storage.files import check_output, publish

_DPI = 160
_STYLES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-.", "points": ""}
_LETTER = 0.06
"""Width of a letter of a note, in inches."""


def save_chart(chart: Chart, stem: Path, force: bool = False) -> list[Path]:
    """Write a chart as `stem.png` and `stem.pdf`; return their paths."""
    return save_figure(chart_figure(chart), stem, force)


def save_figure(figure: Figure, stem: Path, force: bool = False) -> list[Path]:
    """Write a Matplotlib figure as `stem.png` and `stem.pdf`; return their paths."""
    check_figure(stem, force)
    for path, content in zip(_paths(stem), (png(figure), _pdf(figure)), strict=True):
        publish(path, {"": content}, force)
    return _paths(stem)


def check_figure(stem: Path, force: bool = False) -> None:
    """Fail now, before any drawing, if `save_figure` would fail."""
    for path in _paths(stem):
        check_output(path, force)


def chart_figure(chart: Chart) -> Figure:
    """Draw a chart."""
    columns = min(chart.columns, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    wide, high = (5.6, 3.6) if columns == 1 else (3.1, 2.3)
    figure = Figure(figsize=(wide * columns + 1.8, high * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for one, panel in zip(axes, chart.panels, strict=False):
        _draw(one, panel)
    for spare in axes[len(chart.panels) :]:
        spare.set_axis_off()
    handles = [
        Line2D(
            [],
            [],
            color=line.colour,
            ls=_STYLES[line.style],
            label=plain(name),
            marker="." if line.style == "points" else "",
        )
        for name, (_, line) in chart.legend.items()
    ]
    figure.legend(handles=handles, loc="outside right upper", fontsize=7, frameon=False)
    figure.suptitle(plain(chart.title), fontsize=10)
    if chart.note:
        letters = int(figure.get_figwidth() / _LETTER)
        figure.supxlabel(textwrap.fill(plain(chart.note), letters), fontsize=7)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        marker = "." if line.few or line.style == "points" else None
        axes.plot(line.x, finite(line.y), color=line.colour, ls=_STYLES[line.style], lw=1.3,
                  marker=marker)  # fmt: skip
        if line.low is not None and line.high is not None:
            low, high = finite(line.low), finite(line.high)
            axes.fill_between(line.x, low, high, color=line.colour, alpha=0.1, lw=0)
    axes.set_title(plain(panel.title), fontsize=8)
    axes.set_xlabel(plain(panel.x_label), fontsize=8)
    axes.set_ylabel(plain(panel.y_label), fontsize=8)
    axes.tick_params(labelsize=7)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.grid(alpha=0.25, lw=0.5)
    if panel.log and any((finite(line.y) > 0).any() for line in panel.lines):
        axes.set_yscale("log")
    if panel.y_range is not None:
        axes.set_ylim(panel.y_range)


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    buffer = io.BytesIO()
    figure.set_dpi(_DPI)
    # Not `savefig`, which draws twice, the first time for the layout alone.
    FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def _pdf(figure: Figure) -> bytes:
    """Return a figure, whose layout `png` has computed, as a PDF."""
    buffer = io.BytesIO()
    figure.set_layout_engine("none")
    # Without a date the same figure gives the same file.
    FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})
    return buffer.getvalue()


def plain(text: str) -> str:
    """Escape text so that Matplotlib does not read it as a formula."""
    return text.replace("$", r"\$")


def _paths(stem: Path) -> list[Path]:
    return [stem.parent / f"{stem.name}.{kind}" for kind in ("png", "pdf")]
