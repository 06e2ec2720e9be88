"""A live display of all workers: what each is at, how far, and its memory."""

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from farstep import progress
from farstep.files import explained

_OFTEN = 1.0
"""Seconds between two reports of a worker."""


@dataclass(frozen=True)
class Report:
    """What a worker says of itself."""

    stage: str
    done: int
    total: int
    status: str = ""


class Board:
    """One bar for all runs and a line for each worker; nothing when it is not a terminal."""

    def __init__(self, total: int) -> None:
        with explained(Path(os.environ.get("TMPDIR", "/tmp"))):
            self._place = tempfile.TemporaryDirectory(prefix="farstep-workers-")
        self.folder = Path(self._place.name)
        """Where workers report to."""
        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn())
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("runs", total=total)
        self._live = Live(self._bar, console=console, refresh_per_second=2, transient=False)
        self._shown = console.is_terminal

    def __enter__(self) -> "Board":
        if self._shown:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._live.stop()
        self._place.cleanup()

    def show(self, finished: int) -> None:
        """Count the finished runs and look at every worker."""
        self._bar.update(self._task, completed=finished)
        if self._shown:
            self._live.update(Group(self._bar, self.workers()))

    def say(self, text: str) -> None:
        """Print a line above the bar, on a terminal."""
        if self._shown:
            self._live.console.print(text)

    def workers(self) -> Table:
        """Return a line for each worker that is alive."""
        table = Table(box=None, pad_edge=False)
        for column in ("worker", "memory, MB", "at", "", ""):
            table.add_column(column)
        for path in sorted(self.folder.glob("*.json")):
            memory = resident(int(path.stem))
            report = _read(path)
            if memory is not None and report is not None:
                share = f"{report.done / max(report.total, 1):.0%}"
                table.add_row(path.stem, f"{memory:.0f}", report.stage, share, report.status)
        return table


def report_to(folder: Path) -> None:
    """Have this process report its bars to a board's folder."""
    progress.listen(_reporter(folder / f"{os.getpid()}.json"))


def resident(process: int) -> float | None:
    """Return the memory of a process in MB; None if it is gone, or where that is not known."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _reporter(path: Path) -> Callable[[str, int, int, str], None]:
    last = [0.0]

    def report(stage: str, done: int, total: int, status: str) -> None:
        if time.monotonic() - last[0] >= _OFTEN or done == total:
            last[0] = time.monotonic()
            try:
                path.write_text(json.dumps(asdict(Report(stage, done, total, status))))
            except OSError:  # the board is gone, or the disk is full: the work goes on
                return

    return report


def _read(path: Path) -> Report | None:
    try:
        return Report(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):  # it is being written
        return None
