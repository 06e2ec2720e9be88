"""Logs as tables: CSV and Parquet, with a mapping from columns to meanings."""

import io
import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from farstep.datasets.columns import Columns
from farstep.datasets.cutting import cut_into_episodes
from farstep.datasets.header import check_header, to_header, with_header
from farstep.episodes import Episodes
from farstep.errors import DataWarning, FarstepError, did_you_mean, one_line
from farstep.signals import Signals

_STATE, _ACTION, _CLEAN = "state.", "action.", "clean."
_STEP = "step"
"""Written for people to look at, and not read."""
_BLOCK = 8192
"""Rows that are interleaved at a time, so that they stay in the processor's cache."""
_HEADER = "farstep"
"""Parquet keeps the header in the schema's metadata; CSV in a column, on its first row."""
_MARKS = (b'"state_names": [', b'"action_names": [')
"""What a header looks like in the footer of a Parquet file."""


def read(path: Path, columns: Columns | None = None, clip_actions: bool = False) -> Episodes:
    """Read a CSV or Parquet file; without `columns`, one that Farstep wrote or one like it."""
    csv = path.suffix.lower() == ".csv"
    try:
        names = _csv_names(path) if csv else pyarrow.parquet.read_schema(path).names
        meaning = columns or Columns()
        if not meaning.states and not meaning.actions:
            meaning = _own_columns(names, meaning)
        _check_names(meaning, names)
        extra = [] if columns else [n for n in names if n.startswith((_CLEAN, _HEADER))]
        wanted = dict.fromkeys([*meaning.names(), *extra])
        written = {_as_written(name, names): name for name in wanted}
        if len(written) < len(wanted):
            raise FarstepError("a column is named twice, with and without blanks around its name.")
        if csv:
            table = _read_csv(path, names, written, meaning)
        else:
            table = pyarrow.parquet.read_table(
                path, columns=list(written), page_checksum_verification=True
            )
        meant = [written[name] for name in table.column_names]
        table = table.rename_columns(meant).replace_schema_metadata(table.schema.metadata)
        if csv:
            _check_states(table, meaning)
    except (pa.ArrowException, OSError) as error:
        raise FarstepError(f"not readable as {path.suffix[1:]}: {one_line(error)}") from error
    header = {} if columns else _header(table)
    if not header and not columns and not csv:
        _check_never_had_one(path)
    return _to_episodes(table, meaning, header, clip_actions)


def _csv_names(path: Path) -> list[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.readline(10_000)
    if ";" in head and "," not in head:
        raise FarstepError(
            "its columns are separated by semicolons; separate them by commas, and write numbers "
            "with decimal points."
        )
    with pyarrow.csv.open_csv(path) as reader:
        return reader.schema.names


def _as_written(name: str, names: Sequence[str]) -> str:
    """Return a column's name as it is in the file, where blanks may stand around it."""
    return name if name in names else next((n for n in names if n.strip() == name), name)


def _read_csv(
    path: Path, names: Sequence[str], written: Mapping[str, str], meaning: Columns
) -> pa.Table:
    """Read columns by their names in the file; blanks around what is in them do not count."""
    # Numbers are float64 whatever they look like: as an integer, -0 would lose its sign.
    numbers = {*meaning.states, *meaning.actions, meaning.reward}
    types = {
        name: pa.float64()
        for name, meant in written.items()
        if meant in numbers or meant.startswith(_CLEAN)
    }
    try:
        table = _csv_columns(path, list(written), types)
    except pa.ArrowInvalid as error:
        found = re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", one_line(error))
        if found is None:
            raise
        name, value = names[int(found[1])], found[2]
        where = _where(path, name, value)
        raise FarstepError(
            f"column '{name.strip()}' must hold numbers, but has '{value}'{where}."
        ) from error
    trimmed = pc.utf8_trim_whitespace  # pyright: ignore[reportAttributeAccessIssue]
    return pa.table(
        {
            name: trimmed(column) if pa.types.is_string(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def _csv_columns(path: Path, names: list[str], types: Mapping[str, pa.DataType]) -> pa.Table:
    empty = [*pyarrow.csv.ConvertOptions().null_values, " "]
    options = pyarrow.csv.ConvertOptions(
        include_columns=names, column_types=dict(types), null_values=empty
    )
    return pyarrow.csv.read_csv(path, convert_options=options)


def _check_states(table: pa.Table, columns: Columns) -> None:
    """Fail if a state is missing, with its line; what an episode's last row lacks is fine."""
    advice = (
        "remove or repair these rows; where they are missing, the gap in time begins a new episode"
        if columns.time
        else "repair these rows; to remove them, name a column of time (--time, time=…), so that "
        "what is left is not taken for one episode"
    )
    for name in columns.states:
        values = table.column(name).to_numpy()
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise FarstepError(
                f"column '{name}' has {len(wrong)} value(s) that are empty, NaN or infinite, the "
                f"first on line {int(wrong[0]) + 2}; {advice}."
            )


def _where(path: Path, name: str, value: str) -> str:
    """Return the line of a CSV file that has a value in a column, in words."""
    column = _csv_columns(path, [name], {name: pa.string()}).column(name).to_pylist()
    if value not in column:
        return ""
    line = column.index(value) + 2
    units = line == 2 and not _starts_a_number(value) and any(map(_starts_a_number, column[1:2]))
    return f" on line {line}" + (", perhaps a row of units; remove it" if units else "")


def _starts_a_number(text: str | None) -> bool:
    return (text or "").strip().lstrip("+-.")[:1].isdigit()


def encode_parquet(episodes: Episodes) -> bytes:
    """Return a Parquet file's bytes."""
    table = _to_table(episodes)
    header = json.dumps(to_header(episodes, columns=table.column_names)).encode()
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({_HEADER: header}), buffer, write_page_checksum=True
    )
    return buffer.getvalue()


def encode_csv(episodes: Episodes) -> bytes:
    """Return a CSV file's bytes; numbers are written so that they read back to the bit."""
    table = _to_table(episodes)
    types = {name: str(getattr(episodes, name).dtype) for name in _typed(episodes)}
    header = json.dumps(to_header(episodes, types=types, columns=table.column_names))
    first_row_only = pa.array([header] + [None] * (len(table) - 1), pa.string())
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table.append_column(_HEADER, first_row_only), buffer)
    return buffer.getvalue()


def _typed(episodes: Episodes) -> list[str]:
    names = ("states", "actions", "rewards", "clean_states")
    return [name for name in names if getattr(episodes, name) is not None]


def _to_table(episodes: Episodes) -> pa.Table:
    """One row for each state; what belongs to a step is null on an episode's last row."""
    last = np.zeros(len(episodes.states), bool)
    last[episodes.row_offsets[1:] - 1] = True
    number = np.repeat(np.arange(len(episodes)), episodes.lengths + 1)

    def of_steps(values: np.ndarray) -> pa.Array:
        spread = np.zeros(len(last), values.dtype)
        spread[~last] = values
        return pa.array(spread, mask=last)

    def of_ends(flags: np.ndarray) -> pa.Array:
        return pa.array(last & flags[number])

    signals = episodes.signals
    columns = {
        "episode": pa.array(number),
        _STEP: pa.array(np.arange(len(last)) - episodes.row_offsets[number]),
        **{
            f"{_STATE}{n}": pa.array(episodes.states[:, i])
            for i, n in enumerate(signals.state_names)
        },
        **{
            f"{_ACTION}{n}": of_steps(episodes.actions[:, i])
            for i, n in enumerate(signals.action_names)
        },
    }
    if episodes.rewards is not None:
        columns["reward"] = of_steps(episodes.rewards)
    columns["terminated"] = of_ends(episodes.terminated)
    columns["truncated"] = of_ends(episodes.truncated)
    if episodes.clean_states is not None:
        for i, name in enumerate(signals.state_names):
            columns[f"{_CLEAN}{name}"] = pa.array(episodes.clean_states[:, i])
    return pa.table(columns)


def _to_episodes(
    table: pa.Table, columns: Columns, header: dict[str, Any], clip_actions: bool
) -> Episodes:
    if len(table) == 0:
        raise FarstepError("the table has no rows.")
    if header:
        columns = _in_order_of(header, columns, table.column_names)
    table, starts, by_gap, interval = cut_into_episodes(table, columns)
    last = np.append(starts[1:], len(table)) - 1
    steps = np.ones(len(table), bool)
    steps[last] = False
    types = header.get("types", {})

    def numbers(names: Sequence[str], kind: str, rows: np.ndarray | None = None) -> np.ndarray:
        values = _matrix(table, names, rows)
        return values.astype(types[kind]) if kind in types else values

    clean = tuple(f"{_CLEAN}{name.removeprefix(_STATE)}" for name in columns.states)
    lost = _unused_steps(table, columns, last)
    terminated = _ends(table, columns.terminated, last)
    arrays: dict[str, Any] = {
        "states": numbers(columns.states, "states"),
        "actions": numbers(columns.actions, "actions", steps),
        "lengths": last - starts,
        "rewards": numbers((columns.reward,), "rewards", steps)[:, 0] if columns.reward else None,
        "terminated": terminated & ~lost,
        "truncated": _ends(table, columns.truncated, last) | by_gap | (terminated & lost),
        "clean_states": numbers(clean, "clean_states")
        if header and clean[0] in table.column_names
        else None,
    }
    if header:
        return with_header(arrays, header, clip_actions)
    return Episodes(**arrays, signals=_signals(columns, interval))


def _in_order_of(header: dict[str, Any], columns: Columns, found: Sequence[str]) -> Columns:
    """Return the columns as the header names them, whatever their order in the file."""
    check_header(header)
    missing = [name for name in header.get("columns", ()) if name not in (*found, _STEP)]
    if missing:
        raise FarstepError(
            f"there is no column '{missing[0]}', which its farstep header names; if that is meant, "
            "say which columns are states and actions: Columns(states=…, actions=…)."
        )
    names = header["signals"]
    states = tuple(f"{_STATE}{name}" for name in names["state_names"])
    actions = tuple(f"{_ACTION}{name}" for name in names["action_names"])
    if {*states, *actions} != {*columns.states, *columns.actions}:
        raise FarstepError("its columns are not those that its farstep header names.")
    return replace(columns, states=states, actions=actions)


def _unused_steps(table: pa.Table, columns: Columns, last: np.ndarray) -> np.ndarray:
    """Return for each episode whether its last row holds a step whose next state is not logged."""
    unused = np.ones(len(last), bool)
    for column in map(table.column, columns.actions):
        unused &= ~column.is_null(nan_is_null=True).to_numpy()[last]
    if unused.any():
        warnings.warn(
            f"the last row of {int(unused.sum())} episode(s) has an action but no next row: that "
            "step (its action and reward) is left out; if it ended the task, the episode counts "
            "as truncated.",
            DataWarning,
            stacklevel=4,
        )
    return unused


def _header(table: pa.Table) -> dict[str, Any]:
    """Return the header of a table that Farstep wrote, {} of another."""
    text = (table.schema.metadata or {}).get(_HEADER.encode())
    if text is None and _HEADER in table.column_names:
        text = table.column(_HEADER)[0].as_py() if len(table) else None
    try:
        return json.loads(text) if text else {}
    except ValueError as error:
        raise FarstepError(f"its farstep header is damaged ({error}).") from error


def _check_never_had_one(path: Path) -> None:
    """Fail if a Parquet file's footer holds parts of a header that is not found in it any more."""
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
    if any(mark in footer for mark in _MARKS):
        raise FarstepError("its footer is damaged: it was written with a farstep header.")


def _own_columns(names: Sequence[str], given: Columns) -> Columns:
    """Return the columns of a table that is laid out as Farstep writes them, and those given."""
    states = tuple(name for name in names if name.startswith(_STATE))
    actions = tuple(name for name in names if name.startswith(_ACTION))
    if not states or not actions:
        raise FarstepError(
            "say which columns are states and which are actions: Columns(states=…, actions=…), or "
            "farstep data convert IN OUT.npz --states … --actions …, and go on with that file. It "
            f"has: {', '.join(names)}."
        )
    found = {
        name: name
        for name in ("episode", "reward", "terminated", "truncated")
        if name in names and getattr(given, name) is None
    }
    return replace(given, states=states, actions=actions, **found)


def _check_names(columns: Columns, names: Sequence[str]) -> None:
    stripped = [name.strip() for name in names]
    for name in columns.names():
        offered = names if name in names else stripped
        if list(offered).count(name) > 1:
            raise FarstepError(f"two columns are called '{name}'; give them different names.")
        if name not in offered:
            raise FarstepError(f"there is no column '{name}'. {did_you_mean(name, stripped)}")
    if not columns.states or not columns.actions:
        raise FarstepError("give at least one state column and one action column.")


def _signals(columns: Columns, interval: float | None) -> Signals:
    return Signals(
        state_names=tuple(name.removeprefix(_STATE) for name in columns.states),
        action_names=tuple(name.removeprefix(_ACTION) for name in columns.actions),
        interval=interval,
    )


def _matrix(table: pa.Table, names: Sequence[str], rows: np.ndarray | None = None) -> np.ndarray:
    """Return columns side by side; float32 if all are, else float64; null is NaN.

    With `rows`, a mask, only the rows where it is true.
    """
    table = pa.table([_as_number(table.column(name), name) for name in names], names=names)
    kind = np.float32 if set(table.schema.types) == {pa.float32()} else np.float64
    result = np.empty((len(table) if rows is None else rows.sum(), len(names)), kind)
    read = written = 0
    for batch in table.to_batches(max_chunksize=_BLOCK):
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        if rows is not None:
            kept = rows[read : read + len(batch)]
            columns = [column[kept] for column in columns]
        end = written + len(columns[0])
        for i, values in enumerate(columns):
            result[written:end, i] = values
        read, written = read + len(batch), end
    result.flags.writeable = False  # so that it is not copied again
    return result


def _as_number(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return column
    try:
        return column.cast(pa.float64())
    except pa.ArrowException as error:
        raise FarstepError(f"column '{name}' must hold numbers: {one_line(error)}") from error


def _ends(table: pa.Table, name: str | None, last: np.ndarray) -> np.ndarray:
    """Return for each episode whether one of its last two rows is marked."""
    if name is None:
        return np.zeros(len(last), bool)
    try:
        marks = table.column(name).cast(pa.bool_()).fill_null(False).to_numpy()
    except pa.ArrowException as error:
        raise FarstepError(f"column '{name}' must hold true and false, or 1 and 0.") from error
    if marks.sum() > marks[last - 1].sum() + marks[last].sum():
        raise FarstepError(
            f"'{name}' is set in the middle of an episode; name the column that tells episodes "
            "apart (episode=…, --episode)."
        )
    return marks[last - 1] | marks[last]
