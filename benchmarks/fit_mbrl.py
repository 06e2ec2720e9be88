"""Updates per second against mbrl-lib's one-step trainer, each pinned to one core.

mbrl-lib needs older libraries than Farstep; it gets a virtual environment of its own, `.venv-mbrl`.
"""

import statistics
import subprocess
import sys

from benchmarks import pinned
from benchmarks.fit_speed import BATCH, WIDTH
from benchmarks.harness import Result

PEER = pinned.ROOT / ".venv-mbrl" / "bin" / "python"
NEEDS = (
    *("numpy<2", "hydra-core>=1.3", "omegaconf>=2.3", "torch==2.13.0", "gymnasium", "tqdm"),
    *("scipy", "matplotlib", "termcolor", "imageio", "imageio-ffmpeg", "pytest"),
)
REPEATS = 3


def run() -> Result:
    install()
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(pinned.run("benchmarks.fit_mbrl:farstep()"))
        theirs.append(pinned.run("benchmarks/peers/mbrl_trainer.py", PEER))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return Result(
        how=f"One step ahead, one member, 2×{WIDTH} Tanh without normalisation or dropout, batch "
        f"{BATCH}, Gaussian likelihood, differences as targets; medians of {REPEATS} runs in turn. "
        "mbrl 0.2.0 with its evaluation after each epoch off.",
        columns=("Farstep, updates/s", "mbrl-lib, updates/s", "ratio"),
        rows=[
            (
                f"{statistics.median(ours):.0f}",
                f"{statistics.median(theirs):.0f}",
                f"{ratio:.1f}×",
            )
        ],
    )


def farstep() -> float:
    """Return Farstep's rate on the same sizes."""
    from benchmarks.fit_speed import epochs_per_second

    return epochs_per_second(
        horizon=1, dropout=0.0, loss="nll", target="delta", normalisation="none"
    )


def install() -> None:
    """Make the environment of mbrl-lib, unless it is there."""
    if not PEER.exists():
        folder = str(PEER.parents[1])
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(PEER), "-m", "pip", "install", "--quiet"]
        # mbrl pins a hydra that no longer installs; its own dependencies are named here instead.
        subprocess.run([*pip, "--no-deps", "mbrl==0.2.0"], check=True)
        subprocess.run([*pip, *NEEDS], check=True)
