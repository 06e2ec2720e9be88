"""Updates per second against mbrl-lib's one-step trainer, each pinned to one core.

mbrl-lib needs older libraries than Farstep, so it gets a virtual environment of its own.
"""

import statistics
from pathlib import Path

from benchmarks import pinned
from benchmarks.harness import Result, ratio, size
from benchmarks.paper_model import BATCH, WIDTH, updates_per_second

NEEDS = (
    *("numpy<2", "hydra-core>=1.3", "omegaconf>=2.3", "torch==2.13.0", "gymnasium", "tqdm"),
    *("scipy", "matplotlib", "termcolor", "imageio", "imageio-ffmpeg", "pytest"),
)
REPEATS = size(3, 1)


def run() -> Result:
    calls = {
        "ours": "benchmarks.fit_mbrl:farstep()",
        "theirs": "benchmarks.peers.mbrl:updates_per_second()",
    }
    rates = pinned.in_turn(calls, REPEATS, {"theirs": mbrl_python()})
    ours, theirs = (statistics.median(rates[side]) for side in calls)
    return Result(
        how=f"One step ahead, one member, 2×{WIDTH} Tanh without normalisation or dropout, batch "
        f"{BATCH}, Gaussian likelihood, differences as targets; medians of {REPEATS} runs in turn, "
        "with the range in parentheses. mbrl 0.2.0 with its evaluation after each epoch off.",
        columns=("Farstep, updates/s", "mbrl-lib, updates/s", "ratio"),
        rows=[(f"{ours:.0f}", f"{theirs:.0f}", ratio(rates["ours"], rates["theirs"]))],
    )


def farstep() -> float:
    """Return Farstep's rate at the same sizes."""
    return updates_per_second(1, dropout=0.0, loss="nll", target="delta", normalisation="none")


def mbrl_python() -> Path:
    """Return the interpreter of the environment with mbrl-lib."""
    # mbrl pins a hydra that can no longer be installed; its dependencies are named here instead.
    return pinned.peer("mbrl", ("--no-deps", "mbrl==0.2.0"), NEEDS)
