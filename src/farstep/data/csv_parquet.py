"""Episodes as tables, CSV or Parquet: one row for each observation."""

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

from farstep.data.columns import Columns
from farstep.data.cutting import cut_into_episodes
from farstep.data.episodes import FLOATS, Episodes
from farstep.data.npz import parse_header, to_header, with_header
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError, did_you_mean, one_line

_OBSERVATION, _ACTION, _CLEAN = "observation.", "action.", "clean."
_STEP = "step"
"""Written for people; not read."""
_HEADER = "farstep"
"""Parquet has the header in the schema's metadata, CSV in a column, on its first row."""
_MARKS = (b'"observation_names": [', b'"action_names": [')
"""Parts of a header in the footer of a Parquet file."""


def read(path: Path, columns: Columns | None = None) -> tuple[Episodes, Signals]:
    """Read a CSV or Parquet file; without `columns`, one with the columns that Farstep writes."""
    csv = path.suffix.lower() == ".csv"
    names = _csv_names(path) if csv else pyarrow.parquet.read_schema(path).names
    meaning = columns or Columns()
    if not meaning.observations and not meaning.actions:
        meaning = _own_columns(names, meaning)
    _check_names(meaning, names)
    extra = [] if columns else [n for n in names if n.startswith((_CLEAN, _HEADER))]
    wanted = dict.fromkeys([*meaning.names(), *extra])
    # A name may have blanks around it in the file.
    written = {n if n in names else next(m for m in names if m.strip() == n): n for n in wanted}
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
        _check_observations(table, meaning)
        _warn_of_unused_times(path, meaning)
    header = {} if columns else _header(table)
    if not header and not columns and not csv:
        _check_no_lost_header(path)
    return _to_episodes(table, meaning, header)


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


def _read_csv(
    path: Path, names: Sequence[str], written: Mapping[str, str], meaning: Columns
) -> pa.Table:
    """Read columns by their names in the file; blanks around texts are removed."""
    # Numbers are float64 whatever they look like: as an integer, -0 would lose its sign.
    numbers = {*meaning.observations, *meaning.actions, meaning.reward}
    types = {
        name: pa.float64()
        for name, meant in written.items()
        if meant in numbers or meant.startswith(_CLEAN)
    }
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(written),
        column_types=types,
        null_values=[*pyarrow.csv.ConvertOptions().null_values, " "],
    )
    try:
        table = pyarrow.csv.read_csv(path, convert_options=convert)
    except pa.ArrowInvalid:
        _explain_value(path, names, convert)
        raise
    trimmed = pc.utf8_trim_whitespace  # pyright: ignore[reportAttributeAccessIssue]
    columns = [trimmed(c) if pa.types.is_string(c.type) else c for c in table.columns]
    return pa.table(columns, names=table.column_names)


def _explain_value(path: Path, names: Sequence[str], convert: Any) -> None:
    """Fail with the column, the line and the value that is no number, if that is the problem."""

    def error(**options: Any) -> str:
        # Only a reader of one thread counts the rows.
        read = pyarrow.csv.ReadOptions(use_threads=False, **options)
        try:
            rows = len(pyarrow.csv.read_csv(path, read_options=read, convert_options=convert))
        except pa.ArrowInvalid as reason:
            return one_line(reason)
        return "" if rows else "no rows"

    found = re.search(r"In CSV column #(\d+): Row #(\d+): .*invalid value '(.*)'", error())
    if found is not None:
        column, line, value = int(found[1]), int(found[2]), found[3]
        of_units = line == 2 and not error(skip_rows_after_names=1)
        raise FarstepError(
            f"column '{names[column].strip()}' must hold numbers, but has '{value}' on line {line}"
            f"{', perhaps a row of units; remove it' if of_units else ''}."
        )


def _warn_of_unused_times(path: Path, columns: Columns) -> None:
    """Warn if a column has time stamps but no time column is named: gaps are then not found."""
    if columns.time is not None:
        return
    with pyarrow.csv.open_csv(path) as reader:
        stamps = [one.name.strip() for one in reader.schema if pa.types.is_temporal(one.type)]
    if stamps:
        warnings.warn(
            f"column '{stamps[0]}' has time stamps but is not named as the time: gaps are not "
            f"found, and the interval is unknown. Pass --time '{stamps[0]}' (time='{stamps[0]}').",
            DataWarning,
            stacklevel=4,
        )


def _check_observations(table: pa.Table, columns: Columns) -> None:
    """Fail if an observation is missing. Other columns may be empty on an episode's last row."""
    advice = (
        "remove or repair these rows; where rows are missing, a new episode starts at the gap"
        if columns.time
        else "repair these rows; to remove them, name a time column (--time, time=…), so that the "
        "remaining rows are cut into episodes at the gaps"
    )
    for name in columns.observations:
        values = table.column(name).to_numpy()
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise FarstepError(
                f"column '{name}' has {len(wrong)} value(s) that are empty, NaN or infinite, the "
                f"first on line {int(wrong[0]) + 2}; {advice}."
            )


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
    """Return a CSV file's bytes; reading them gives bit-identical numbers."""
    table = _to_table(episodes)
    arrays = {name: getattr(episodes, name) for name in FLOATS}
    types = {name: str(value.dtype) for name, value in arrays.items() if value is not None}
    header = json.dumps(to_header(episodes, types=types, columns=table.column_names))
    first_row_only = pa.array([header] + [None] * (len(table) - 1), pa.string())
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table.append_column(_HEADER, first_row_only), buffer)
    return buffer.getvalue()


def _to_table(episodes: Episodes) -> pa.Table:
    """Return one row for each observation; actions and rewards are null on the last of each."""
    last = np.zeros(len(episodes.observations), bool)
    last[episodes.row_offsets[1:] - 1] = True
    number = np.repeat(np.arange(len(episodes)), episodes.lengths + 1)

    def of_steps(values: np.ndarray) -> pa.Array:
        spread = np.zeros(len(last), values.dtype)
        spread[~last] = values
        return pa.array(spread, mask=last)

    signals, clean = episodes.signals, episodes.clean_observations
    columns = {"episode": number, _STEP: np.arange(len(last)) - episodes.row_offsets[number]}
    for i, name in enumerate(signals.observation_names):
        columns[f"{_OBSERVATION}{name}"] = episodes.observations[:, i]
    for i, name in enumerate(signals.action_names):
        columns[f"{_ACTION}{name}"] = of_steps(episodes.actions[:, i])
    if episodes.rewards is not None:
        columns["reward"] = of_steps(episodes.rewards)
    columns["terminated"] = last & episodes.terminated[number]
    columns["truncated"] = last & episodes.truncated[number]
    if clean is not None:
        for i, name in enumerate(signals.observation_names):
            columns[f"{_CLEAN}{name}"] = clean[:, i]
    return pa.table(columns)


def _to_episodes(
    table: pa.Table, columns: Columns, header: dict[str, Any]
) -> tuple[Episodes, Signals]:
    if len(table) == 0:
        raise FarstepError("the table has no rows.")
    if header:
        columns = _in_order_of(header, columns, table.column_names)
    table, starts, by_gap, interval = cut_into_episodes(table, columns)
    last = np.append(starts[1:], len(table)) - 1
    steps = np.ones(len(table), bool)
    steps[last] = False
    types = header.get("types", {})

    def numbers(kind: str, names: Sequence[str], rows: np.ndarray | slice) -> np.ndarray:
        values = _matrix(table, names, rows)
        return values.astype(types[kind]) if kind in types else values

    clean = tuple(f"{_CLEAN}{name.removeprefix(_OBSERVATION)}" for name in columns.observations)
    lost = _unused_steps(table, columns, last)
    terminated = _ends(table, columns.terminated, last)
    arrays: dict[str, Any] = {
        "observations": numbers("observations", columns.observations, slice(None)),
        "actions": numbers("actions", columns.actions, steps),
        "lengths": last - starts,
        "terminated": terminated & ~lost,
        "truncated": _ends(table, columns.truncated, last) | by_gap | (terminated & lost),
    }
    if columns.reward:
        arrays["rewards"] = numbers("rewards", (columns.reward,), steps)[:, 0]
    if header and clean[0] in table.column_names:
        arrays["clean_observations"] = numbers("clean_observations", clean, slice(None))
    if header:
        return with_header(arrays, header)
    signals = Signals(
        observation_names=tuple(name.removeprefix(_OBSERVATION) for name in columns.observations),
        action_names=tuple(name.removeprefix(_ACTION) for name in columns.actions),
        interval=interval,
    )
    return Episodes(**arrays, signals=signals), signals


def _in_order_of(header: dict[str, Any], columns: Columns, found: Sequence[str]) -> Columns:
    """Return the columns as the header names them, whatever their order in the file."""
    missing = [name for name in header.get("columns", ()) if name not in (*found, _STEP)]
    if missing:
        raise FarstepError(
            f"there is no column '{missing[0]}', which its farstep header names; to read the "
            "others, pass columns=Columns(observations=…, actions=…)."
        )
    names = header["signals"]
    observations = tuple(f"{_OBSERVATION}{name}" for name in names["observation_names"])
    actions = tuple(f"{_ACTION}{name}" for name in names["action_names"])
    if {*observations, *actions} != {*columns.observations, *columns.actions}:
        raise FarstepError("its columns differ from those that its farstep header names.")
    return replace(columns, observations=observations, actions=actions)


def _unused_steps(table: pa.Table, columns: Columns, last: np.ndarray) -> np.ndarray:
    """Return for each episode whether its last row has an action, with unknown result."""
    unused = np.ones(len(last), bool)
    for column in map(table.column, columns.actions):
        unused &= ~column.is_null(nan_is_null=True).to_numpy()[last]
    if unused.any():
        warnings.warn(
            f"the last row of {int(unused.sum())} episode(s) has an action but no next row: this "
            "step is left out, and if it ended the task, the episode counts as truncated.",
            DataWarning,
            stacklevel=4,
        )
    return unused


def _header(table: pa.Table) -> dict[str, Any]:
    """Return the header of a table; {} for a table of another program."""
    text = (table.schema.metadata or {}).get(_HEADER.encode())
    if text is None and _HEADER in table.column_names:
        text = table.column(_HEADER)[0].as_py() if len(table) else None
    return parse_header(text) if text else {}


def _check_no_lost_header(path: Path) -> None:
    """Fail if a Parquet file's footer holds parts of a header, which damage has hidden."""
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-8 - length, os.SEEK_END)
        footer = file.read(length)
    if any(mark in footer for mark in _MARKS):
        raise FarstepError("its footer is damaged: the farstep header is missing.")


def _own_columns(names: Sequence[str], given: Columns) -> Columns:
    """Return the columns that Farstep writes, and the given ones."""
    observations = tuple(name for name in names if name.startswith(_OBSERVATION))
    actions = tuple(name for name in names if name.startswith(_ACTION))
    if not observations or not actions:
        raise FarstepError(
            "name the observation and action columns: Columns(observations=…, actions=…), or "
            "farstep data convert IN OUT.npz --observations … --actions … and use that file. The "
            f"columns are: {', '.join(names)}."
        )
    found = {
        name: name
        for name in ("episode", "reward", "terminated", "truncated")
        if name in names and getattr(given, name) is None
    }
    return replace(given, observations=observations, actions=actions, **found)


def _check_names(columns: Columns, names: Sequence[str]) -> None:
    stripped = [name.strip() for name in names]
    for name in columns.names():
        offered = names if name in names else stripped
        if list(offered).count(name) > 1:
            raise FarstepError(f"two columns are called '{name}'; give them different names.")
        if name not in offered:
            raise FarstepError(f"there is no column '{name}'. {did_you_mean(name, stripped)}")
    if not columns.observations or not columns.actions:
        raise FarstepError("give at least one observation column and one action column.")


def _matrix(table: pa.Table, names: Sequence[str], rows: np.ndarray | slice) -> np.ndarray:
    """Return these rows of some columns: float32 if all are, else float64; null becomes NaN."""
    columns = [table.column(name) for name in names]
    kind = pa.float32() if all(c.type == pa.float32() for c in columns) else pa.float64()
    numbers = []
    for name, column in zip(names, columns, strict=True):
        try:
            numbers.append(column.cast(kind, safe=False).to_numpy()[rows])
        except pa.ArrowException as error:
            raise FarstepError(f"column '{name}' must hold numbers: {one_line(error)}") from error
    result = np.stack(numbers, axis=1)
    result.flags.writeable = False  # so that it is not copied again
    return result


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
