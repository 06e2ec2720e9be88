"""Reading a Parquet log of 1 000 000 rows, against pyarrow alone."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Result, median_seconds
from farstep import Columns, DataWarning, read

ROWS, EPISODES = 1_000_000, 1_000
STATES, ACTIONS = tuple(f"x{i}" for i in range(5)), ("u",)


def run() -> Result:
    warnings.simplefilter("ignore", DataWarning)  # that the last row's action is not used
    rng = np.random.default_rng(0)
    names = (*STATES, *ACTIONS, "reward")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in (np.float32, np.float64):
            path = Path(folder) / f"{kind.__name__}.parquet"
            columns = {name: rng.normal(size=ROWS).astype(kind) for name in names}
            number = np.repeat(np.arange(EPISODES), ROWS // EPISODES)
            pq.write_table(pa.table({**columns, "run": number}), path)
            meaning = Columns(states=STATES, actions=ACTIONS, episode="run", reward="reward")

            def arrays(path: Path = path) -> dict[str, np.ndarray]:
                table = pq.read_table(path)
                return {name: table.column(name).to_numpy() for name in table.column_names}

            alone = median_seconds(lambda p=path: pq.read_table(p))
            numpy = median_seconds(arrays)
            ours = median_seconds(lambda p=path, m=meaning: read(p, m))
            rows.append(
                (
                    kind.__name__,
                    f"{path.stat().st_size / 1e6:.0f} MB",
                    f"{ROWS / alone / 1e6:.1f} M rows/s",
                    f"{ROWS / numpy / 1e6:.1f} M rows/s",
                    f"{ROWS / ours / 1e6:.1f} M rows/s",
                    f"{alone / ours:.2f}",
                    f"{numpy / ours:.2f}",
                )
            )
    return Result(
        how=f"{ROWS:,} rows, {EPISODES:,} episodes, {len(STATES)} states, 1 action, reward; "
        "medians of 7 reads of a file in the page cache, all cores for every side. "
        "`farstep.read` includes cutting into episodes and all checks.",
        columns=(
            "columns",
            "file",
            "pyarrow `read_table`",
            "and to NumPy",
            "`farstep.read`",
            "Farstep / pyarrow",
            "Farstep / pyarrow + NumPy",
        ),
        rows=rows,
    )
