"""The datasets that come with the package, by name."""

import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

from farstep.datasets import minari
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.fields import check_word

_FOLDER = "shipped"
_RECORD = "shipped.json"
_DAMAGED = "the shipped dataset '{}' is damaged; install farstep again."


def names() -> list[str]:
    """Return the names that `load` takes."""
    return sorted(records())


def records() -> dict[str, dict[str, Any]]:
    """Return for each set its recipe, seed, versions and hashes."""
    return json.loads(_folder().joinpath(_RECORD).read_text())


def load(name: str) -> Episodes:
    """Load a shipped dataset, such as `cartpole-swingup/random`, after checking its SHA-256."""
    known = records()
    check_word("shipped dataset", name, known)
    path = _folder() / name
    if file_sha256(path) != known[name]["sha256"]:
        raise FarstepError(_DAMAGED.format(name))
    data = minari.read(path)
    if data.fingerprint != known[name]["fingerprint"]:
        raise FarstepError(_DAMAGED.format(name))
    return data


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a Minari directory's data file."""
    return hashlib.sha256((path / "data" / "main_data.hdf5").read_bytes()).hexdigest()


def _folder() -> Path:
    return Path(str(resources.files("farstep.datasets"))) / _FOLDER
