"""A progress bar with rate and time left; nothing at all when the output is not a terminal."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich import progress
from rich.console import Console
from rich.text import Text

T = TypeVar("T")


class _Rate(progress.ProgressColumn):
    def render(self, task: progress.Task) -> Text:
        return Text(f"{task.speed:.3g}/s" if task.speed else "", style="progress.data.speed")


def track(items: Iterable[T], total: int, what: str, unit: str) -> Iterator[T]:
    """Yield `items` while a bar on standard error counts them in `unit`."""
    console = Console(stderr=True)
    bar = progress.Progress(
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn(unit),
        _Rate(),
        progress.TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total)
        for item in items:
            yield item
            bar.advance(task)
