"""Run benchmarks by name, or all: python -m benchmarks [--quick] [NAME …].

With --quick the sizes are tiny, and tables are printed but not stored: it only shows that the
benchmarks work.
"""

import importlib
import os
import sys
from pathlib import Path

from benchmarks import harness

HERE = Path(__file__).parent
NAMES = sorted(
    path.stem for path in HERE.glob("*.py") if "\ndef run() -> Result" in path.read_text()
)


def main(arguments: list[str]) -> None:
    """Run, print and store each."""
    names = [name for name in arguments if name != "--quick"]
    if len(names) < len(arguments):
        os.environ[harness.QUICK] = "1"
    if unknown := sorted(set(names) - set(NAMES)):
        sys.exit(f"there is no benchmark '{unknown[0]}'; known: {', '.join(NAMES)}")
    for name in names or NAMES:
        result = importlib.import_module(f"benchmarks.{name}").run()
        print(harness.text(name, result) if harness.is_quick() else harness.save(name, result))


if __name__ == "__main__":
    main(sys.argv[1:])
