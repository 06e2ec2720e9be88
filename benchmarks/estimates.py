"""What a dry run expects of each kind of run, beside what the recorded ones took.

Nothing is computed: the records in `results` are compared with `usual_seconds`, which a dry run
goes by where no record of the same settings tells.
"""

from collections import defaultdict

import numpy as np

from benchmarks.harness import Result
from benchmarks.scaling_plan import RECORDS
from farstep.exhibits.exhibit import Plan
from farstep.exhibits.reproduce import EXHIBITS
from farstep.runs.run import Run
from farstep.runs.store import Store
from farstep.runs.sweep import with_needs

PRESET, SEEDS = "standard", 3


def run() -> Result:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    machines: set[str] = set()
    store = Store(RECORDS)
    runs = [one for exhibit in EXHIBITS.values() for one in exhibit.runs(Plan(PRESET, SEEDS))]
    for one in with_needs(runs, Store(RECORDS / "nothing")):
        record = store.record(one)
        if record is not None and record["seconds"]:
            found[_kind(one)].append((record["seconds"], one.usual_seconds))
            machines.add(record.get("machine", "not recorded"))
    rows = []
    for kind, times in sorted(found.items()):
        taken, expected = np.array(times).T
        low, middle, high = np.quantile(taken / expected, (0.1, 0.5, 0.9))
        rows.append(
            (kind, str(len(times)), f"{taken.sum() / 3600:.1f}", f"{expected.sum() / 3600:.1f}",
             f"{middle:.2f} ({low:.2f} to {high:.2f})")
        )  # fmt: skip
    return Result(
        how=f"Runs of `{PRESET}` with {SEEDS} seeds whose records tell how long they took, in "
        "hours of one core. The ratio: taken by expected, median and 10 to 90 % of the runs. Of "
        "runs that were killed and went on, older records have the last process only, so that the "
        "sums taken are too low; newer ones have no time. Most ran beside other work on two cores "
        "(AMD EPYC, the trials Intel Xeon), which makes them too high.",
        columns=("runs", "count", "taken", "expected", "ratio"),
        rows=rows,
        machine="; ".join(sorted(machines)),
    )


def _kind(one: Run) -> str:
    members = one.settings.get("config", {}).get("members", 1)
    return f"{one.kind}, {members} members" if members > 1 else one.kind
