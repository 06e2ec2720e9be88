"""`farstep report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Report:
    """Write one self-contained page of everything that `farstep reproduce` has computed.

    Every exhibit whose runs are all there is shown, with the largest preset that is; the others
    are named. Of several directories, the first that has all runs of an exhibit is taken. Nothing
    is computed but what draws the pictures.

    Example: farstep report paper --out report.html
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR...")]
    """What was --out of `farstep reproduce`."""
    out: Path = Path("report.html")
    """The file to write."""
    only: tuple[str, ...] = ()
    """Names of exhibits to show; without them all that are there."""
    seeds: int | None = None
    """What --seeds of `farstep reproduce` was, if it was given."""
    force: bool = False
    """Replace a file that is there."""

    def run(self) -> None:
        """Write the page and say where."""
        from farstep.exhibits.whole_report import report

        chosen = {"only": self.only, "seeds": self.seeds, "force": self.force}
        written = report(self.folders, self.out, **chosen)
        print(f"wrote {written}")
