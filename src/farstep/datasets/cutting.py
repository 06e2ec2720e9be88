"""Cutting the rows of a log into episodes: by an episode column, and at gaps in time."""

import bisect
import contextlib
import warnings
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from farstep.datasets.columns import Columns
from farstep.errors import DataWarning, FarstepError

PER_SECOND = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60, "h": 1 / 3600}
_UNEVEN = 1.5
"""Steps in time that are so many times longer or shorter than usual: the log has several rates."""
_MANY_GAPS = 0.05
"""Of the rows, above which they are no gaps of a logger."""


class Cuts(NamedTuple):
    """A table whose rows are grouped by episode."""

    table: pa.Table
    starts: Int[np.ndarray, " n"]
    """The first row of each episode."""
    by_gap: Bool[np.ndarray, " n"]
    """Whether a gap in time ends the episode."""
    interval: float | None
    """The typical time step, if there is a time column."""


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
    if pa.types.is_integer(column.type):
        names = column.to_numpy()
        starts = _changes(names)
        if len(np.unique(names[starts])) == len(starts):
            return table, starts
    try:
        numbers = column.combine_chunks().dictionary_encode().indices.to_numpy()
    except pa.ArrowException as error:
        raise FarstepError(f"column '{episode}' must hold numbers or text.") from error
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        table, numbers = table.take(pa.array(order)), numbers[order]
    return table, _changes(numbers)


def _changes(numbers: np.ndarray) -> np.ndarray:
    """Return where each run of equal numbers starts."""
    return np.concatenate([[0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1])


def _seconds(column: pa.ChunkedArray, name: str, unit: str) -> Float[np.ndarray, " rows"]:
    if pa.types.is_string(column.type):
        with contextlib.suppress(pa.ArrowException):
            column = column.cast(_timestamp(column))
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_numpy() / PER_SECOND[column.type.unit]
    try:
        # Not exactly: nanoseconds of the day are more than float64 can count.
        return column.cast(pa.float64(), safe=False).to_numpy() / PER_SECOND[unit]
    except pa.ArrowException as error:
        raise FarstepError(
            f"time column '{name}' holds {_unread(column)}; it must hold numbers, or timestamps "
            "such as 2026-01-31 12:00:00.5, all with a time zone or all without."
        ) from error


def _timestamp(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of texts of times, with a time zone if the first one has it."""
    zoned = pa.timestamp("ns", "UTC")
    try:
        column.slice(0, 1).cast(zoned)
    except pa.ArrowException:
        return pa.timestamp("ns")
    return zoned


def _unread(column: pa.ChunkedArray) -> str:
    """Return what is no timestamp, in words: the first such text, or the type of the column."""
    if not pa.types.is_string(column.type):
        return f"{column.type}s"

    def good(rows: int) -> bool:
        try:
            column.slice(0, rows).cast(_timestamp(column))
        except pa.ArrowException:
            return False
        return True

    first = bisect.bisect_left(range(len(column)), 1, key=lambda row: not good(row + 1))
    return f"'{column[first].as_py()}' at data row {first + 1}"


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
        at = f"data row {row + 2}" + (", counted episode by episode," if len(starts) > 1 else "")
        if seconds[row] == seconds[row + 1]:
            raise FarstepError(
                f"time column '{name}' is '{before}' and again '{after}' at {at} as far as times "
                "can be told apart; write them as finely as rows follow each other, or leave the "
                "column out."
            )
        raise FarstepError(
            f"time column '{name}' goes back at {at} from '{before}' to '{after}'; "
            "if a new run begins there, number the runs in a column and name it as the episode "
            "(--episode, episode=…); rows of one run have to be sorted by time."
        )
    # As far as the times themselves are known: 0.1 s, not 0.0999999, between times of day.
    digits = int(-np.log10(np.spacing(np.abs(seconds).max()))) - 1
    middle = float(np.median(steps[within]))
    return round(middle, digits) or middle


def _warn_of_uneven_rows(took: np.ndarray, interval: float, gap: float) -> None:
    """Say which rows come too soon or late after the one before, in intervals, but at no gap."""
    uneven = np.flatnonzero((took * _UNEVEN < 1) | ((took > _UNEVEN) & (took <= gap)))
    if len(uneven):
        warnings.warn(
            f"{len(uneven)} row(s) come less than {1 / _UNEVEN:.2g} or more than {_UNEVEN:g} of "
            f"the typical interval of {interval:.6g} s after the one before, the first at data row "
            f"{uneven[0] + 1}; a model takes all steps as equally long. Bring the log to one rate "
            "first.",
            DataWarning,
            stacklevel=2,
        )


def _cut_at(
    gaps: np.ndarray, which: str, table: pa.Table, starts: np.ndarray, interval: float
) -> Cuts:
    """Cut before these rows as well, drop what has no transition, and say so."""
    starts = np.union1d(starts, gaps)
    rows = np.diff(starts, append=len(table))
    by_gap = np.isin(starts + rows, gaps)[rows >= 2]
    kept = np.repeat(rows >= 2, rows)
    dropped = int((~kept).sum())
    alone = f" ({dropped} lone row(s) between gaps dropped)" if dropped else ""
    uneven = ""
    if len(gaps) > max(10, _MANY_GAPS * len(table)):
        uneven = (
            f" That is {len(gaps) / len(table):.0%} of the rows: the log seems to have several "
            "rates, or uneven time stamps; bring it to one rate first."
        )
    warnings.warn(
        f"time jumps by more than {which} at {len(gaps)} place(s), the first at data row "
        f"{gaps[0] + 1}; each starts a new episode{alone}.{uneven}",
        DataWarning,
        stacklevel=2,
    )
    if not kept.any():
        raise FarstepError("no two rows in a row are left between the gaps in time.")
    rows = rows[rows >= 2]
    return Cuts(table.filter(pa.array(kept)), np.cumsum(rows) - rows, by_gap, interval)
