"""What all benchmarks share: a table, the machine it was measured on, and where it is kept."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from farstep.machine import machine

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Result:
    """A measured table, with a sentence that says how it was measured."""

    how: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    command: str | None = None
    """What makes it again, if it is no benchmark of that name."""
    machine: str | None = None
    """What it was measured on, if not this one."""


def save(name: str, result: Result) -> str:
    """Write a table as Markdown, which the documentation includes, and return it."""
    command = result.command or f"python -m benchmarks {name}"
    lines = [
        "| " + " | ".join(result.columns) + " |",
        "|" + "---|" * len(result.columns),
        *("| " + " | ".join(row) + " |" for row in result.rows),
        "",
        f"{result.how} Command: `{command}`. Machine: {result.machine or machine()}.",
    ]
    text = "\n".join(lines) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    return text


def median_seconds(function: Callable[[], object], repeats: int = 7) -> float:
    """Return the median time of some calls, after one that is not counted."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
