"""The paper's table of agents with ten seeds on many cores: a plan, played through.

Nothing is computed: the times are those of recorded runs, or what runs of their kind usually take.
Moving files and starting workers are not in it.
"""

from pathlib import Path

from benchmarks.harness import Result
from reproduction.estimate import estimate
from reproduction.figure import Plan
from reproduction.reproduce import FIGURES

CORES = (1, 8, 64, 512)
SEEDS = 10


def run() -> Result:
    rows = []
    for preset in ("standard", "paper"):
        figures, out = [FIGURES["offline-table"]], Path("no such directory")
        found = estimate(figures, out, Plan(preset, SEEDS), recorded=False)
        one = found.hours(1)
        for cores in CORES:
            hours = found.hours(cores)
            rows.append(
                (
                    preset,
                    " + ".join(str(found.missing[kind]) for kind in ("fit", "offline")),
                    str(cores),
                    f"{hours:.1f}",
                    f"{one / hours:.0f}×",
                    f"{one / hours / cores:.0%}",
                )
            )
    return Result(
        how=f"{SEEDS} seeds of every row on every dataset; an agent waits for its model, and the "
        "two are the least that any number of cores takes. Simulated, from the measured time of "
        "each stage on one core of the machine below.",
        columns=("preset", "fits + agents", "cores", "hours", "speed-up", "of the ideal"),
        rows=rows,
    )
