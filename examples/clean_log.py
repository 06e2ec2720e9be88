"""Clean the export of a plant's historian: other separators and dates, gaps in cells, two rates.

Run it as `python clean_log.py export.csv clean.csv`, and change the constants to those of your log.
It drops rows with empty cells and repeated times, and brings each run to one rate.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

TIME, INTERVAL, LONGEST_GAP = "Zeit", 2.0, 10.0
"""The column of times; seconds between two rows afterwards; a longer gap starts another run."""
READ = pyarrow.csv.ReadOptions(encoding="cp1252")
PARSE = pyarrow.csv.ParseOptions(delimiter=";")
CONVERT = pyarrow.csv.ConvertOptions(
    decimal_point=",", timestamp_parsers=["%d.%m.%Y %H:%M:%S", pyarrow.csv.ISO8601]
)
HELD = ("Pumpe",)
"""Columns that hold a value until the next row, such as actions; others are interpolated."""


def clean(source: str | Path, target: str | Path) -> int:
    """Write a table with the columns `run`, `time` in seconds, and the others; return its runs."""
    table = pyarrow.csv.read_csv(source, READ, PARSE, CONVERT).drop_null()
    milliseconds = table.column(TIME).cast(pa.timestamp("ms")).cast(pa.int64()).to_numpy()
    seconds, rows = np.unique(milliseconds / 1000, return_index=True)  # sorted, each time once
    values = {n: table.column(n).to_numpy()[rows] for n in table.column_names if n != TIME}
    parts = []
    cuts = np.flatnonzero(np.diff(seconds) > LONGEST_GAP) + 1
    for run, inside in enumerate(np.split(np.arange(len(seconds)), cuts)):
        times = seconds[inside]
        grid = np.arange(times[0], times[-1] + 1e-6, INTERVAL)
        before = np.searchsorted(times, grid, side="right") - 1
        columns = {"run": np.full(len(grid), run), "time": grid - seconds[0]}
        for name, column in values.items():
            known = column[inside]
            held = name in HELD or known.dtype.kind not in "fiu"
            columns[name] = known[before] if held else np.interp(grid, times, known)
        parts.append(pa.table(columns))
    pyarrow.csv.write_csv(pa.concat_tables(parts), target)
    return len(parts)


if __name__ == "__main__":
    print(clean(*sys.argv[1:3]), "run(s)")
