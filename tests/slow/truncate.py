"""Truncate files at every byte: `python -m tests.slow.truncate`."""

import sys
import tempfile
from pathlib import Path

from benchmarks.harness import Result, save
from tests.slow.formats import FORMATS
from tests.slow.survey import OTHER, REFUSED, SAME, truncated


def main() -> int:
    """Truncate every format, print and store the table; the exit code is 1 if there is a fault."""
    rows, faults = [], 0
    for name in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            found = truncated(name, Path(folder))
        wrong = [outcome for outcome in found if outcome.startswith("fault")]
        print(name, dict(found.most_common(5)), flush=True)
        faults += len(wrong)
        counts = [found.total(), *(found[one] for one in (REFUSED, SAME, OTHER))]
        rows.append([name, *map(str, counts), str(sum(found[one] for one in wrong))])
    result = Result(
        how="A small file of each format, truncated at every byte in turn. HDF5 files may end in "
        "bytes that nothing uses.",
        columns=["file", "truncations", REFUSED, SAME, OTHER, "faults"],
        rows=rows,
        command="python -m tests.slow.truncate",
    )
    print(save("truncations", result))
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
