"""Make a named dataset by its recipe and put it, with its record, into the package.

Usage: python scripts/ship_dataset.py cartpole-swingup/expert WORK

WORK is the directory in which a killed command continues.
"""

import json
import sys
from pathlib import Path

from farstep.data.dataset_files import file_sha256, shipped_records, write_dataset
from farstep.runtime.machine import versions
from farstep.runtime.processes import usable_cores
from farstep.workflows.dataset_recipes import RECIPES, make_dataset

FOLDER = Path(__file__).parents[1] / "src" / "farstep" / "data" / "shipped"


def main(name: str, work: Path) -> None:
    """Write the dataset's files and its entry in shipped.json."""
    data = make_dataset(name, work, workers=usable_cores())
    path = write_dataset(data, FOLDER / name, force=True)
    records = shipped_records()
    records[name] = {
        "about": RECIPES[name].about,
        "recipe": f"farstep data make {name} --out PATH",
        "seed": RECIPES[name].seed,
        "settings": dict(RECIPES[name].settings),
        "episodes": len(data),
        "steps": data.num_steps,
        "sha256": file_sha256(path),
        "fingerprint": data.fingerprint,
        "versions": versions(),
    }
    (FOLDER / "shipped.json").write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")
    print(json.dumps(records[name], indent=1))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
