"""Run benchmarks by name, or all: python -m benchmarks [NAME …]."""

import importlib
import sys
from pathlib import Path

from benchmarks.harness import save

HERE = Path(__file__).parent
NAMES = sorted(
    path.stem for path in HERE.glob("*.py") if "\ndef run() -> Result" in path.read_text()
)


def main() -> None:
    """Run, print and store each."""
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"there is no benchmark '{name}'; known: {', '.join(NAMES)}")
        table = importlib.import_module(f"benchmarks.{name}").run()
        print(save(name, table))


if __name__ == "__main__":
    main()
