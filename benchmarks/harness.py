"""What all benchmarks share: sizes, timing, tables, and where these are stored.

It imports nothing but the standard library until it is used: peers with libraries of their own
measure with it too.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from farstep.plotting.charts import Chart

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent / "work"
"""Models and agents that a benchmark continues with when it is run again; not committed."""
QUICK = "FARSTEP_QUICK_BENCHMARKS"
"""The environment variable of `--quick`."""
T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """A measured table, with a sentence that says how it was measured."""

    how: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    command: str | None = None
    """The command that measures it, if it is not a benchmark of that name."""


def is_quick() -> bool:
    """Return whether `--quick` was given."""
    return bool(os.environ.get(QUICK))


def size(full: T, quick: T) -> T:
    """Return the first value, or the second with `--quick`."""
    return quick if is_quick() else full


def text(name: str, result: Result) -> str:
    """Return a table as Markdown."""
    from farstep.runtime.machine import machine

    command = result.command or f"python -m benchmarks {name}"
    lines = [
        "| " + " | ".join(result.columns) + " |",
        "|" + "---|" * len(result.columns),
        *("| " + " | ".join(row) + " |" for row in result.rows),
        "",
        f"{result.how} Command: `{command}`. Machine: {machine()}.",
    ]
    return "\n".join(lines) + "\n"


def save(name: str, result: Result) -> str:
    """Store a table as Markdown, which the documentation includes, and return it."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text(name, result))
    return text(name, result)


def save_figure(name: str, chart: "Chart") -> None:
    """Store a chart among the documentation's figures."""
    from farstep.plotting.static import chart_figure, png

    if not is_quick():
        (ROOT / "docs" / "figures" / f"{name}.png").write_bytes(png(chart_figure(chart)))


def median_seconds(function: Callable[[], object], repeats: int = 7, warm_up: int = 1) -> float:
    """Return the median duration of a call, after some calls that are not counted."""
    for _ in range(warm_up):
        function()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def per_second(function: Callable[[], object], seconds: float = 3.0, warm_up: int = 20) -> float:
    """Return how often a function can be called in a second, the mean over some seconds."""
    seconds = size(seconds, 0.1)
    for _ in range(warm_up):
        function()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        function()
        count += 1
    return count / (time.perf_counter() - began)


def ratio(ours: Sequence[float], theirs: Sequence[float], digits: int = 1) -> str:
    """Return the median of paired ratios, and their range in parentheses."""
    found = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, middle, high = (f"{f(found):.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle}× ({low} to {high})"


def with_interval(values: Sequence[float], digits: int = 4) -> str:
    """Return the mean over seeds ± half of Student's 90 % interval."""
    import numpy as np

    from farstep.evaluation.metrics import half_width

    array = np.array(values, np.float64)
    if not np.isfinite(array).all():
        return "diverges"
    half = float(half_width(array))
    return f"{array.mean():.{digits}f}" + (f" ± {half:.{digits}f}" if np.isfinite(half) else "")
