"""Kill work at random moments: `python -m tests.slow.kill --kills 120`."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.harness import Result, save

sys.path.insert(0, str(Path(__file__).parents[1]))  # the modules that tests share

from tests.slow.killing import Kills, killed
from tests.slow.tasks import TASKS


def table(found: Sequence[Kills], command: str) -> Result:
    """Return counts by task."""
    names = ("kills", "ends", "seconds", "files", "litter", "faults")
    rows = [
        (
            one.task,
            *(f"{getattr(one, name):.4g}" for name in names[:-1]),
            str(len(one.faults)),
        )
        for one in found
    ]
    return Result(
        how="Toy sizes. Each process is killed (SIGKILL) at a moment drawn uniformly over the "
        "duration of the undisturbed task, every second one over the time after its first file, "
        "and started again until it is finished. Its result is compared bit by bit with the "
        "undisturbed one, and the next chain of kills begins. After each kill every file under "
        "its final name is read. A fault is a start that fails, an incomplete file, or another "
        "result, also of two processes that are started at once in one directory.",
        columns=[
            *("task", "kills", "ends", "task, s", "files read", "temporary files left", "faults"),
        ],
        rows=rows,
        command=command,
    )


def main(arguments: Sequence[str]) -> int:
    """Kill every task, print and store the table; return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=120, help="of all tasks together")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the counts here, and no table")
    asked = parser.parse_args(arguments)
    found = []
    for number, name in enumerate(asked.tasks):
        count = asked.kills // len(asked.tasks)
        rng = np.random.default_rng([asked.seed, number])
        with tempfile.TemporaryDirectory() as folder:
            found.append(killed(TASKS[name], count, Path(folder), rng))
        print(found[-1], flush=True)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(one) for one in found]))
    else:
        print(save("kills", table(found, f"python -m tests.slow.kill --kills {asked.kills}")))
    return int(any(one.faults for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
