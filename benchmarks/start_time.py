"""How long the package and the command take to start; Python itself beside them."""

import subprocess
import sys

from benchmarks.harness import Result, median_seconds, size

REPEATS = size(11, 1)
STARTS = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import farstep'": ("-c", "import farstep"),
    "farstep --help": ("-m", "farstep", "--help"),
    "farstep fit --help": ("-m", "farstep", "fit", "--help"),
}


def run() -> Result:
    rows = []
    for name, arguments in STARTS.items():
        seconds = median_seconds(lambda words=arguments: _start(words), REPEATS)
        rows.append((f"`{name}`", f"{seconds:.2f}"))
    return Result(
        how=f"Median of {REPEATS} new processes, after one that fills the disk's cache. JAX, "
        "MuJoCo and the rest are imported when they are needed.",
        columns=("start", "seconds"),
        rows=rows,
    )


def _start(arguments: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
