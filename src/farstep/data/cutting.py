"""Cutting the rows of a log into episodes: by an episode column, and at gaps in time."""

import contextlib
import warnings
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from farstep.data.columns import Columns
from farstep.errors import DataWarning, FarstepError

PER_SECOND = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60, "h": 1 / 3600}
_UNEVEN = 1.5
"""Time steps that are this many times longer or shorter than the typical one cause a warning."""
_MANY_GAPS = 0.05
"""Above this share of gaps among the rows, the log probably has several rates."""


class Cuts(NamedTuple):
    """A table whose rows are grouped by episode."""

    table: pa.Table
    starts: Int[np.ndarray, " n"]
    """The first row of each episode."""
    by_gap: Bool[np.ndarray, " n"]
    """Whether a gap in time ends the episode."""
    interval: float | None
    """The typical time step in seconds, if there is a time column."""


def cut_into_episodes(table: pa.Table, columns: Columns) -> Cuts:
    """Group the rows by an episode column, and cut where time jumps."""
    episode, time = columns.episode, columns.time
    starts = np.array([0])
    if episode is not None:
        table, starts = _grouped(table, episode)
    short = np.flatnonzero(np.diff(starts, append=len(table)) < 2)
    if len(short):
        which = table.column(episode)[int(starts[short[0]])].as_py() if episode else 0
        raise FarstepError(
            f"episode {which} has one row and so no transition; each needs at least two rows "
            f"({len(short)} such episode(s))."
        )
    uncut = Cuts(table, starts, np.zeros(len(starts), bool), None)
    if time is None:
        return uncut
    seconds = _seconds(table.column(time), time, columns.time_unit)
    interval = _interval(seconds, starts, time, table.column(time))
    took = np.diff(seconds, prepend=seconds[0]) / interval
    took[starts] = 1.0
    _warn_of_uneven_rows(took, interval, columns.gap)
    gaps = np.flatnonzero(took > columns.gap)
    if len(gaps) == 0:
        return uncut._replace(interval=interval)
    return _cut_at(gaps, f"{columns.gap:g} intervals of {interval:.6g} s", table, starts, interval)


def _grouped(table: pa.Table, episode: str) -> tuple[pa.Table, np.ndarray]:
    """Bring each episode's rows together, in the order of first appearance."""
    column = table.column(episode)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise FarstepError(
            f"column '{episode}' is empty on data row {row + 1}; every row needs an episode."
        )
    try:
        numbers = column.combine_chunks().dictionary_encode().indices.to_numpy()
    except pa.ArrowException as error:
        raise FarstepError(f"column '{episode}' must hold numbers or text.") from error
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        table, numbers = table.take(pa.array(order)), numbers[order]
    return table, np.flatnonzero(np.diff(numbers, prepend=-1))


def _seconds(column: pa.ChunkedArray, name: str, unit: str) -> Float[np.ndarray, " rows"]:
    if pa.types.is_string(column.type):
        with contextlib.suppress(pa.ArrowException):
            column = column.cast(_timestamp(column))
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_numpy() / PER_SECOND[column.type.unit]
    try:
        # Not exactly: float64 cannot count the nanoseconds of a day.
        return column.cast(pa.float64(), safe=False).to_numpy() / PER_SECOND[unit]
    except pa.ArrowException as error:
        raise FarstepError(
            f"time column '{name}' holds {_unread(column)}; it must hold numbers, or timestamps "
            "such as 2026-01-31 12:00:00.5, all with a time zone or all without."
        ) from error


def _timestamp(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of timestamps in text, with a time zone if the first one has it."""
    zoned = pa.timestamp("ns", "UTC")
    try:
        column.slice(0, 1).cast(zoned)
    except pa.ArrowException:
        return pa.timestamp("ns")
    return zoned


def _unread(column: pa.ChunkedArray) -> str:
    """Return the first text that is no timestamp, or the type of the column, in words."""
    if not pa.types.is_string(column.type):
        return f"{column.type}s"

    kind = _timestamp(column)
    for row, text in enumerate(column, 1):
        try:
            text.cast(kind)
        except pa.ArrowException:
            return f"'{text}' at data row {row}"
    return "texts"


def _interval(
    seconds: np.ndarray, starts: np.ndarray, name: str, written: pa.ChunkedArray
) -> float:
    steps = np.diff(seconds)
    within = np.ones(len(steps), bool)
    within[starts[1:] - 1] = False
    empty = np.flatnonzero(np.isnan(seconds))
    if len(empty):
        raise FarstepError(f"time column '{name}' is empty at data row {int(empty[0]) + 1}.")
    wrong = np.flatnonzero(within & ~(steps > 0))
    if len(wrong):
        row = int(wrong[0])
        before, after = written.slice(row, 2).cast(pa.string()).to_pylist()
        counted = " (counted episode by episode)" if len(starts) > 1 else ""
        at = f"data row {row + 2}{counted}"
        if seconds[row] == seconds[row + 1]:
            raise FarstepError(
                f"time column '{name}' is '{before}' and again '{after}' at {at}; remove one of "
                "the rows or, if the times are rounded, write them with more digits."
            )
        raise FarstepError(
            f"time column '{name}' decreases at {at}, from '{before}' to '{after}'; sort the rows "
            "of each run by time, and name a column that numbers the runs (--episode, episode=…)."
        )
    # At the resolution of the times: 0.1 s, not 0.0999999, between times of day.
    digits = int(-np.log10(np.spacing(np.abs(seconds).max()))) - 1
    middle = float(np.median(steps[within]))
    return round(middle, digits) or middle


def _warn_of_uneven_rows(took: np.ndarray, interval: float, gap: float) -> None:
    """Warn of time steps, in typical intervals, that are too short or too long but no gaps."""
    uneven = np.flatnonzero((took * _UNEVEN < 1) | ((took > _UNEVEN) & (took <= gap)))
    if len(uneven):
        warnings.warn(
            f"{len(uneven)} time step(s) are shorter than {1 / _UNEVEN:.2g} or longer than "
            f"{_UNEVEN:g} typical intervals of {interval:.6g} s, the first before data row "
            f"{uneven[0] + 1}; models assume equal steps, so resample the log to one rate first.",
            DataWarning,
            stacklevel=2,
        )


def _cut_at(
    gaps: np.ndarray, which: str, table: pa.Table, starts: np.ndarray, interval: float
) -> Cuts:
    """Cut before these rows too, and drop episodes without a transition, with a warning."""
    starts = np.union1d(starts, gaps)
    rows = np.diff(starts, append=len(table))
    by_gap = np.isin(starts + rows, gaps)[rows >= 2]
    kept = np.repeat(rows >= 2, rows)
    dropped = int((~kept).sum())
    alone = f" ({dropped} lone row(s) between gaps dropped)" if dropped else ""
    uneven = ""
    if len(gaps) > max(10, _MANY_GAPS * len(table)):
        uneven = (
            f" That is {len(gaps) / len(table):.0%} of the rows: the log probably has several "
            "rates; resample it to one rate first."
        )
    warnings.warn(
        f"time jumps by more than {which} at {len(gaps)} place(s), the first at data row "
        f"{gaps[0] + 1}; each starts a new episode{alone}.{uneven}",
        DataWarning,
        stacklevel=2,
    )
    if not kept.any():
        raise FarstepError("there are no two rows without a gap in time between them.")
    rows = rows[rows >= 2]
    return Cuts(table.filter(pa.array(kept)), np.cumsum(rows) - rows, by_gap, interval)
