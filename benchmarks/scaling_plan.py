"""The paper's offline table with ten seeds on many cores: a plan, played through.

Nothing is computed: the times of fits are those of the records in `results`, and those of agents
go by the number of their updates (`usual_seconds`), where no record tells. Moving files and
starting workers are not in it.
"""

from pathlib import Path

from benchmarks.harness import Result
from farstep.exhibits.exhibit import Plan
from farstep.exhibits.reproduce import EXHIBITS
from farstep.runs.estimate import estimate
from farstep.runs.store import Store

CORES = (1, 8, 64, 512)
SEEDS = 10
RECORDS = Path(__file__).parents[1] / "results"


def run() -> Result:
    rows = []
    for preset in ("standard", "paper"):
        runs = EXHIBITS["offline-table"].runs(Plan(preset, SEEDS))
        found = estimate(runs, Store(Path("nowhere")), timed=(RECORDS,))
        one = found.hours(1)
        for cores in CORES:
            hours = found.hours(cores)
            rows.append(
                (preset, f"{found.missing['fit']} + {found.missing['offline']}", str(cores),
                 f"{hours:.1f}", f"{one / hours:.0f}×", f"{one / hours / cores:.0%}")
            )  # fmt: skip
    return Result(
        how=f"{SEEDS} seeds of every row on every dataset; an agent waits for its model, and the "
        "two are the least that any number of cores takes. Simulated, from the measured time of "
        "each stage on one core of the machine below.",
        columns=("preset", "fits + agents", "cores", "hours", "speed-up", "of the ideal"),
        rows=rows,
    )
