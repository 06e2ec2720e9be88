"""Reading a Parquet log of 1 000 000 rows, against pyarrow alone."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Result, median_seconds, size
from farstep import Columns, DataWarning, read_dataset

ROWS, EPISODES = size((1_000_000, 1_000), (1_000, 10))
OBSERVATIONS, ACTIONS = tuple(f"x{i}" for i in range(5)), ("u",)


def run() -> Result:
    warnings.simplefilter("ignore", DataWarning)  # that the last row's action is not used
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(Path(folder), kind) for kind in (np.float32, np.float64)]
    return Result(
        how=f"{ROWS:,} rows, {EPISODES:,} episodes, {len(OBSERVATIONS)} observations, 1 action, "
        "reward; medians of 7 reads of a file in the page cache, all cores for every side. "
        "`read_dataset` includes cutting into episodes and all checks.",
        columns=(
            "columns",
            "file",
            "pyarrow `read_table`",
            "and to NumPy",
            "`read_dataset`",
            "Farstep / pyarrow",
            "Farstep / pyarrow + NumPy",
        ),
        rows=rows,
    )


def _row(folder: Path, kind: type[np.floating]) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    path = folder / f"{kind.__name__}.parquet"
    columns = {n: rng.normal(size=ROWS).astype(kind) for n in (*OBSERVATIONS, *ACTIONS, "reward")}
    number = np.repeat(np.arange(EPISODES), ROWS // EPISODES)
    pq.write_table(pa.table({**columns, "run": number}), path)
    meaning = Columns(observations=OBSERVATIONS, actions=ACTIONS, episode="run", reward="reward")

    def arrays() -> dict[str, np.ndarray]:
        table = pq.read_table(path)
        return {name: table.column(name).to_numpy() for name in table.column_names}

    alone = median_seconds(lambda: pq.read_table(path))
    numpy = median_seconds(arrays)
    ours = median_seconds(lambda: read_dataset(path, meaning))
    return (
        kind.__name__,
        f"{path.stat().st_size / 1e6:.0f} MB",
        *(f"{ROWS / seconds / 1e6:.1f} M rows/s" for seconds in (alone, numpy, ours)),
        f"{alone / ours:.2f}",
        f"{numpy / ours:.2f}",
    )
