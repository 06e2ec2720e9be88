"""Tables for the terminal."""

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from farstep.data.episodes import Episodes
from farstep.data.summary import QUANTILES, Dimension, describe


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    texts: Sequence[str] = (),
) -> None:
    """Print a table; the first column and `texts` are text, the others are to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE)
    for place, column in enumerate(columns):
        side = "right" if place and column not in texts else "left"
        table.add_column(column, justify=side, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    # As wide as it needs: a narrow terminal folds lines, but nothing is cut.
    width = Measurement.get(wide := Console(width=10_000), wide.options, table).maximum
    Console(width=width).print(table)


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        whole = (cell.is_integer() or abs(cell) >= 1000) and abs(cell) < 1e9
        return f"{cell:,.0f}" if whole else f"{cell:.4g}"
    return str(cell)


def print_summary(episodes: Episodes) -> None:
    """Print what `farstep data info` shows."""
    summary = describe(episodes)
    source = f" of {episodes.system}" if episodes.system else ""
    several = "" if summary.episodes == 1 else "s"
    print(f"{summary.episodes} episode{several}, {summary.steps} steps{source}")
    neither = summary.episodes - summary.terminated - summary.truncated
    ended = f", {neither} ended with the recording" if neither > 0 else ""
    print(f"{summary.terminated} terminated, {summary.truncated} truncated{ended}")
    signals = episodes.signals
    print(f"interval {signals.interval:g} s" if signals.interval else "interval unknown")
    bounds = zip(signals.action_names, signals.action_low, signals.action_high, strict=True)
    print("bounds " + ", ".join(f"{name} [{low:g}, {high:g}]" for name, low, high in bounds))
    rows = [("length", *summary.lengths)]
    if summary.returns is not None:
        rows.append(("return", *summary.returns))
    quantiles = [f"{q:.0%}" for q in QUANTILES]
    print_table("Quantiles over episodes", ["", *quantiles], rows)
    extra = [] if summary.rewards is None else [("reward", summary.rewards)]
    dimensions = [
        *(("observation", dimension) for dimension in summary.observations),
        *(("action", dimension) for dimension in summary.actions),
        *extra,
    ]
    print_table(
        "Dimensions",
        ["name", "kind", "unit", "lowest", "highest", "mean", "variance"],
        [_row(kind, dimension) for kind, dimension in dimensions],
    )


def _row(kind: str, column: Dimension) -> tuple[object, ...]:
    return (column.name, kind, column.unit, column.low, column.high, column.mean, column.variance)
