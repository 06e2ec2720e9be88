"""What all figures share: colours, and how they are saved."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from farstep.files import check_output, publish

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000",
)  # fmt: skip
"""Okabe and Ito's, told apart by colour-blind readers too."""


def save(figure: Figure, stem: Path, force: bool = False) -> list[Path]:
    """Write a figure as `stem.png` and `stem.pdf`; return their paths."""
    figure.align_labels()
    paths = [stem.parent / f"{stem.name}.{kind}" for kind in ("png", "pdf")]
    for path in paths:
        check_output(path, force)
    for path in paths:
        buffer = io.BytesIO()
        # Without a date the same figure is the same file.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
        figure.savefig(buffer, format=path.suffix[1:], dpi=160, metadata=metadata)
        publish(path, {"": buffer.getvalue()}, force)
    return paths
