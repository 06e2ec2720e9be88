"""How all figures are saved."""

import io
from pathlib import Path

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
    for path in _paths(stem):
        buffer = io.BytesIO()
        # Without a date the same figure is the same file.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        figure.savefig(buffer, format=path.suffix[1:], dpi=_DPI, metadata=metadata)
        figure.set_layout_engine("none")  # the second has the first's, which took a third of it
        publish(path, {"": buffer.getvalue()}, force)
    return _paths(stem)


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()


def plain(text: str) -> str:
    """Return text that Matplotlib does not read as a formula."""
    return text.replace("$", r"\$")


def _paths(stem: Path) -> list[Path]:
    return [stem.parent / f"{stem.name}.{kind}" for kind in ("png", "pdf")]
