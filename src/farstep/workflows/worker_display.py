"""A live display of all workers: stage, progress and memory of each."""

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from farstep.runtime import progress
from farstep.storage.files import explained

_INTERVAL = 1.0
"""Seconds between two reports of a worker."""


@dataclass(frozen=True)
class Report:
    """A worker's last report: its progress bar."""

    stage: str
    done: int
    total: int
    status: str = ""


class WorkerDisplay:
    """One bar for all runs and a line for each worker; shows nothing outside a terminal."""

    def __init__(self, total: int) -> None:
        with explained(Path(os.environ.get("TMPDIR", "/tmp"))):
            self._temporary = tempfile.TemporaryDirectory(prefix="farstep-workers-")
        self.folder = Path(self._temporary.name)
        """Where workers write their reports."""
        console = Console(stderr=True)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn())
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("runs", total=total)
        self._live = Live(self._bar, console=console, refresh_per_second=2, transient=False)
        self._shown = console.is_terminal

    def __enter__(self) -> "WorkerDisplay":
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
        self._temporary.cleanup()

    def update(self, finished: int) -> None:
        """Show the number of finished runs, and every worker's last report."""
        self._bar.update(self._task, completed=finished)
        if self._shown:
            self._live.update(Group(self._bar, self.workers()))

    def print(self, text: str) -> None:
        """Print a line above the bar, on a terminal."""
        if self._shown:
            self._live.console.print(text)

    def workers(self) -> Table:
        """Return a table with a line for each living worker."""
        table = Table(box=None, pad_edge=False)
        for column in ("worker", "memory, MB", "stage", "", ""):
            table.add_column(column)
        for path in sorted(self.folder.glob("*.json")):
            memory = resident(int(path.stem))
            report = _read(path)
            if memory is not None and report is not None:
                share = f"{report.done / max(report.total, 1):.0%}"
                table.add_row(path.stem, f"{memory:.0f}", report.stage, share, report.status)
        return table


def report_to(folder: Path) -> None:
    """Have this process write its progress bars to a display's folder."""
    path, last = folder / f"{os.getpid()}.json", [0.0]

    def report(stage: str, done: int, total: int, status: str) -> None:
        if time.monotonic() - last[0] >= _INTERVAL or done == total:
            last[0] = time.monotonic()
            try:
                path.write_text(json.dumps(asdict(Report(stage, done, total, status))))
            except OSError:  # the display is gone, or the disk is full: the work goes on
                return

    progress.listen(report)


def resident(process: int) -> float | None:
    """Return the memory of a process in MB; None if it has ended, or if that is not known."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _read(path: Path) -> Report | None:
    try:
        return Report(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):  # it is being written
        return None
