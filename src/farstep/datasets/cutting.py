"""Cutting the rows of a log into episodes: by an episode column, and at gaps in time."""

import warnings

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from farstep.errors import DataWarning, FarstepError

GAP = 1.5
"""A step in time longer than this many typical ones starts a new episode."""


def cut_into_episodes(
    table: pa.Table, episode: str | None, time: str | None
) -> tuple[pa.Table, Int[np.ndarray, " n"], float | None]:
    """Return the rows grouped by episode, the first row of each, and the typical time step."""
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
    if time is None:
        return table, starts, None
    seconds = _seconds(table.column(time), time)
    interval = _interval(seconds, starts, time)
    return *_cut_at_gaps(table, starts, seconds, interval), interval


def _grouped(table: pa.Table, episode: str) -> tuple[pa.Table, np.ndarray]:
    """Bring each episode's rows together, in the order of first appearance."""
    column = table.column(episode)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise FarstepError(f"column '{episode}' is empty on row {row}; every row needs an episode.")
    if pa.types.is_integer(column.type):
        names = column.to_numpy()
        starts = _changes(names)
        if len(np.unique(names[starts])) == len(starts):
            return table, starts
    numbers = column.combine_chunks().dictionary_encode().indices.to_numpy()
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        table, numbers = table.take(pa.array(order)), numbers[order]
    return table, _changes(numbers)


def _changes(numbers: np.ndarray) -> np.ndarray:
    """Return where each run of equal numbers starts."""
    return np.concatenate([[0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1])


def _seconds(column: pa.ChunkedArray, name: str) -> Float[np.ndarray, " rows"]:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() / 1e6
    try:
        return column.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise FarstepError(
            f"time column '{name}' holds {column.type}; it must be seconds or timestamps."
        ) from error


def _interval(seconds: np.ndarray, starts: np.ndarray, name: str) -> float:
    steps = np.diff(seconds)
    within = np.ones(len(steps), bool)
    within[starts[1:] - 1] = False
    wrong = np.flatnonzero(within & ~(steps > 0))
    if len(wrong):
        raise FarstepError(
            f"time column '{name}' does not increase at row {int(wrong[0]) + 1} (from "
            f"{seconds[wrong[0]]:.9g} to {seconds[wrong[0] + 1]:.9g}); sort the rows, or name the "
            "column that tells episodes apart."
        )
    return float(np.median(steps[within]))


def _cut_at_gaps(
    table: pa.Table, starts: np.ndarray, seconds: np.ndarray, interval: float
) -> tuple[pa.Table, np.ndarray]:
    jumps = np.flatnonzero(np.diff(seconds) > GAP * interval) + 1
    gaps = np.setdiff1d(jumps, starts)
    if len(gaps) == 0:
        return table, starts
    starts = np.union1d(starts, gaps)
    rows = np.diff(starts, append=len(table))
    kept = np.repeat(rows >= 2, rows)
    warnings.warn(
        f"time jumps by more than {GAP:g} intervals of {interval:.6g} s at {len(gaps)} place(s); "
        f"each starts a new episode ({int((~kept).sum())} lone row(s) between gaps dropped).",
        DataWarning,
        stacklevel=2,
    )
    if not kept.any():
        raise FarstepError("no two rows in a row are left between the gaps in time.")
    rows = rows[rows >= 2]
    return table.filter(pa.array(kept)), np.cumsum(rows) - rows
