"""A progress bar with rate and time left; nothing at all when the output is not a terminal."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from rich import progress
from rich.console import Console
from rich.text import Text

T = TypeVar("T")
Listener: TypeAlias = Callable[[str, int, int, str], None]
"""Is called at each change of a progress bar with its unit, its count, its total and its status."""
_listeners: list[Listener] = []


class _Rate(progress.ProgressColumn):
    def render(self, task: progress.Task) -> Text:
        return Text(f"{task.speed:.3g}/s" if task.speed else "", style="progress.data.speed")


class Bar:
    """A bar on standard error that counts to `total` in `unit`, with a status beside it."""

    def __init__(self, what: str, total: int, unit: str, done: int = 0) -> None:
        console = Console(stderr=True)
        self._bar = progress.Progress(
            progress.TextColumn(what),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn(unit),
            _Rate(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[status]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total, completed=done, status="")
        self._what, self._total, self._done = what, total, done

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, status: str = "", by: int = 1) -> None:
        """Count one more, or several."""
        self._bar.update(self._task, advance=by, status=status)
        self._done += by
        for listener in _listeners:
            listener(self._what, self._done, self._total, status)


def listen(listener: Listener) -> None:
    """Call `listener` at each change of a bar in this process, whether it is shown or not."""
    _listeners.append(listener)


def track(items: Iterable[T], total: int, what: str, unit: str) -> Iterator[T]:
    """Yield `items` while a bar counts them."""
    with Bar(what, total, unit) as bar:
        for item in items:
            yield item
            bar.advance()
