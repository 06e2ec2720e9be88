"""How all figures are saved."""

import io
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from farstep.files import check_output, publish

_DPI = 160


def check_figure(stem: Path, force: bool = False) -> None:
    """Fail now, before any drawing, if `save` would."""
    for path in _paths(stem):
        check_output(path, force)


def save(figure: Figure, stem: Path, force: bool = False) -> list[Path]:
    """Write a figure as `stem.png` and `stem.pdf`; return their paths."""
    check_figure(stem, force)
    for path, content in zip(_paths(stem), (png(figure), _pdf(figure)), strict=True):
        publish(path, {"": content}, force)
    return _paths(stem)


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    buffer = io.BytesIO()
    figure.set_dpi(_DPI)
    # Not by `savefig`, which draws everything twice, the first time for the layout alone.
    FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()


def _pdf(figure: Figure) -> bytes:
    """Return a figure that has been drawn, and so has its layout, as a PDF."""
    buffer = io.BytesIO()
    figure.set_layout_engine("none")
    # Without a date the same figure is the same file.
    FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})
    return buffer.getvalue()


def plain(text: str) -> str:
    """Return text that Matplotlib does not read as a formula."""
    return text.replace("$", r"\$")


def _paths(stem: Path) -> list[Path]:
    return [stem.parent / f"{stem.name}.{kind}" for kind in ("png", "pdf")]
