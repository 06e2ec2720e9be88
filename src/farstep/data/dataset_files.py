"""Datasets by name or path: the shipped ones, and files, whose path determines the format."""

import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from farstep.data import csv_parquet, d4rl, minari, npz
from farstep.data.columns import Columns
from farstep.data.episodes import Episodes, check_episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.settings import check_choice
from farstep.storage.files import check_output, nearby, publish

SHIPPED = Path(str(resources.files("farstep.data"))) / "shipped"
"""The directory of the datasets that are shipped with the package."""
_ENCODERS = {
    ".npz": npz.encode,
    ".csv": csv_parquet.encode_csv,
    ".parquet": csv_parquet.encode_parquet,
}
_TABLES = (".csv", ".parquet")
_FORMATS = {".npz": "NPZ", ".csv": "CSV", ".parquet": "Parquet", ".hdf5": "HDF5", ".h5": "HDF5"}


def shipped_records() -> dict[str, dict[str, Any]]:
    """Return recipe, seed, versions and hashes of each shipped dataset, by name."""
    return json.loads((SHIPPED / "shipped.json").read_text())


def load_dataset(name: str) -> Episodes:
    """Load a shipped dataset, such as `cartpole-swingup/random`, after checking its SHA-256."""
    known = shipped_records()
    check_choice("shipped dataset", name, known)
    if file_sha256(SHIPPED / name) == known[name]["sha256"]:
        data = read_dataset(SHIPPED / name)
        if data.fingerprint == known[name]["fingerprint"]:
            return data
    raise FarstepError(f"the shipped dataset '{name}' is damaged; install Farstep again.")


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a Minari directory's data file."""
    return hashlib.sha256((path / minari.FILES[0]).read_bytes()).hexdigest()


def read_dataset(
    path: str | Path,
    columns: Columns | None = None,
    signals: Signals | None = None,
    clip_actions: bool = False,
) -> Episodes:
    """Read episodes from a file or a Minari directory, or load a shipped set by its name.

    Args:
        path: A Minari directory, `.npz`, `.csv`, `.parquet`, a D4RL-style `.hdf5`, or the
            name of a shipped set.
        columns: The meaning of the columns of a CSV or Parquet file.
        signals: Names, units and bounds that replace the file's, such as a system's.
        clip_actions: Move actions outside their bounds to the nearest bound, with a warning;
            without it they are an error.
    """
    if not isinstance(path, (str, Path)):
        raise FarstepError(
            f"path must be a path or the name of a shipped set, not a {type(path).__name__}."
        )
    path = Path(path)
    try:
        unbounded, recorded = _read(path, columns)
        return unbounded.with_signals(signals or recorded, clip_actions)
    except FarstepError as error:
        raise FarstepError(f"{path}: {error}") from error
    except UnicodeDecodeError as error:
        raise FarstepError(f"{path}: its text is not UTF-8; save it as UTF-8.") from error
    except Exception as error:  # whatever a library raises on a damaged file
        if isinstance(error, OSError) and error.strerror:
            raise FarstepError(f"{path}: cannot be read: {error.strerror}.") from error
        kind = _FORMATS.get(path.suffix.lower(), "a Minari dataset")
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise FarstepError(f"{path}: not readable as {kind} ({reason}).") from error


def _read(path: Path, columns: Columns | None) -> tuple[Episodes, Signals]:
    """Return episodes without bounds on actions, and the recorded signals with bounds."""
    suffix = path.suffix.lower()
    if not path.exists():
        names = sorted(shipped_records())
        if str(path) in names:
            data = load_dataset(str(path))
            return data, data.signals
        raise FarstepError(
            f"no such file or directory.{nearby(path)} Nor is it a shipped dataset. "
            f"{did_you_mean(path, names)}"
        )
    if columns is not None and suffix not in _TABLES:
        raise FarstepError(f"columns are for tables ({', '.join(_TABLES)}) only; leave them out.")
    if minari.is_dataset(path):
        return minari.read(path)
    if suffix not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise FarstepError(f"unknown format; Farstep reads a Minari directory, {known}.")
    if suffix in _TABLES:
        return csv_parquet.read(path, columns)
    return npz.read(path) if suffix == ".npz" else d4rl.read(path)


def write_dataset(episodes: Episodes, path: str | Path, force: bool = False) -> Path:
    """Write episodes atomically to `.npz`, `.csv`, `.parquet`, or without a suffix for Minari.

    An existing path is an error unless `force`.
    """
    check_episodes(episodes)
    path = Path(path)
    check_target(path, force)
    encode = _ENCODERS.get(path.suffix.lower())
    publish(path, {"": encode(episodes)} if encode else minari.encode(episodes, path), force)
    return path


def check_target(path: Path, force: bool = False) -> None:
    """Fail if episodes could not be written to `path`; call it before long work."""
    if path.suffix.lower() in _ENCODERS:
        check_output(path, force)
    elif path.suffix == "" or re.search(r"-v\d+$", path.name):
        check_output(path, force, minari.FILES)
    else:
        raise FarstepError(
            f"cannot tell the format of '{path.name}' to write. Without a suffix it becomes a "
            f"Minari directory. {did_you_mean(path.suffix, _ENCODERS)}"
        )
