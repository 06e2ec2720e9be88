"""Reading and writing episodes: the format follows from the path."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from farstep.datasets import d4rl, minari, npz, shipped, table
from farstep.datasets.columns import Columns
from farstep.episodes import Episodes
from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.files import publish
from farstep.signals import Signals

_HDF5 = (".hdf5", ".h5")
_TABLES = (".csv", ".parquet")
_READABLE = "a Minari directory, .npz, .csv, .parquet, or D4RL-style .hdf5"


def read(
    path: str | Path,
    columns: Columns | None = None,
    signals: Signals | None = None,
    clip_actions: bool = False,
) -> Episodes:
    """Read episodes from a file or a Minari directory, or load a shipped set by its name.

    Args:
        path: A Minari directory, `.npz`, `.csv`, `.parquet`, a D4RL-style `.hdf5`, or the
            name of a shipped set.
        columns: What the columns of a CSV or Parquet file mean.
        signals: Names, units and bounds to use in place of the file's, such as a system's.
        clip_actions: Move actions beyond their bounds to the nearest bound, with a warning;
            without it they are an error.
    """
    episodes = _read(Path(path), columns, clip_actions)
    return episodes.with_signals(signals, clip_actions) if signals else episodes


def write(episodes: Episodes, path: str | Path, force: bool = False) -> Path:
    """Write episodes; `.npz`, `.csv`, `.parquet`, or a path without a suffix for Minari.

    An existing path is left alone unless `force`; a failed write leaves it as it was.
    """
    path = Path(path)
    publish(path, encoder(path)(episodes), force)
    return path


def encoder(path: Path) -> Callable[[Episodes], Mapping[str, bytes]]:
    """Return what turns episodes into the files of this path's format."""
    single = {".npz": npz.encode, ".csv": table.encode_csv, ".parquet": table.encode_parquet}
    if path.suffix in single:
        return lambda episodes: {"": single[path.suffix](episodes)}
    if path.suffix == "" or re.search(r"-v\d+$", path.name):
        return lambda episodes: minari.encode(episodes, path.name)
    raise FarstepError(
        f"cannot tell the format of '{path.name}' to write. {did_you_mean(path.suffix, single)} "
        "Without a suffix it becomes a Minari directory."
    )


def _read(path: Path, columns: Columns | None, clip_actions: bool) -> Episodes:
    if not path.exists():
        if str(path) in shipped.names():
            return shipped.load(str(path))
        raise FarstepError(f"there is no file or directory {path}. {_nearby(path)}")
    try:
        return _parse(path, columns, clip_actions)
    except (ValueError, TypeError, KeyError, OSError) as error:
        damage = "" if isinstance(error, FarstepError) else f"damaged, {type(error).__name__}: "
        raise FarstepError(f"{path}: {damage}{one_line(error)}") from error


def _parse(path: Path, columns: Columns | None, clip_actions: bool) -> Episodes:
    if columns is not None and path.suffix not in _TABLES:
        raise FarstepError(f"not a table; columns are for {' and '.join(_TABLES)} files.")
    if minari.is_dataset(path):
        return minari.read(path, clip_actions)
    if path.suffix == ".npz":
        return npz.read(path)
    if path.suffix in _TABLES:
        return table.read(path, columns)
    if path.suffix in _HDF5:
        return d4rl.read(path)
    raise FarstepError(f"in no format that Farstep reads, which are {_READABLE}.")


def _nearby(path: Path) -> str:
    names: Sequence[str] = []
    if path.parent.is_dir():
        names = sorted(entry.name for entry in path.parent.iterdir())[:1000]
    near = did_you_mean(path.name, names)
    guess = near.split("? ")[0] + "? " if "Did you mean" in near else ""
    return f"{guess}Shipped sets: {', '.join(shipped.names())}."
