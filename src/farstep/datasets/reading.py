"""Reading and writing episodes: the format follows from the path."""

import difflib
import re
from pathlib import Path

from farstep.datasets import d4rl, minari, npz, shipped, table
from farstep.datasets.columns import Columns
from farstep.episodes import Episodes, check_episodes
from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.files import check_output, nearby, publish
from farstep.signals import Signals

_SINGLE = {".npz": npz.encode, ".csv": table.encode_csv, ".parquet": table.encode_parquet}
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
    if not isinstance(path, (str, Path)):
        raise FarstepError(f"a {type(path).__name__} is no path and no name of a shipped set.")
    episodes = _read(Path(path), columns, clip_actions)
    return episodes.with_signals(signals, clip_actions) if signals else episodes


def write(episodes: Episodes, path: str | Path, force: bool = False) -> Path:
    """Write episodes; `.npz`, `.csv`, `.parquet`, or a path without a suffix for Minari.

    An existing path is left alone unless `force`; a failed write leaves it as it was.
    """
    check_episodes(episodes)
    path = Path(path)
    check_target(path, force)
    single = _SINGLE.get(path.suffix.lower())
    publish(path, {"": single(episodes)} if single else minari.encode(episodes, path), force)
    return path


def check_target(path: Path, force: bool = False) -> None:
    """Fail now, before any work, if episodes could not be written to `path`."""
    if path.suffix.lower() in _SINGLE:
        check_output(path, force)
    elif path.suffix == "" or re.search(r"-v\d+$", path.name):
        check_output(path, force, minari.FILES)
    else:
        raise FarstepError(
            f"cannot tell the format of '{path.name}' to write. "
            f"{did_you_mean(path.suffix, _SINGLE)} Without a suffix it becomes a Minari directory."
        )


def _read(path: Path, columns: Columns | None, clip_actions: bool) -> Episodes:
    try:
        if not path.exists():
            if str(path) in shipped.names():
                return shipped.load(str(path))
            raise FarstepError(_nearby(path))
        return _parse(path, columns, clip_actions)
    except FarstepError as error:
        raise FarstepError(f"{path}: {error}") from error
    except OSError as error:
        raise FarstepError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise FarstepError(f"{path}: its text is not UTF-8; save it as UTF-8.") from error
    except Exception as error:  # whatever a library makes of a damaged file
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise FarstepError(f"{path}: damaged, or not what its name says ({reason}).") from error


def _parse(path: Path, columns: Columns | None, clip_actions: bool) -> Episodes:
    suffix = path.suffix.lower()
    if columns is not None and suffix not in _TABLES:
        raise FarstepError(f"not a table; columns are for {' and '.join(_TABLES)} files.")
    if minari.is_dataset(path):
        return minari.read(path, clip_actions)
    if suffix == ".npz":
        return npz.read(path, clip_actions)
    if suffix in _TABLES:
        return table.read(path, columns, clip_actions)
    if suffix in _HDF5:
        return d4rl.read(path)
    raise FarstepError(f"in no format that Farstep reads, which are {_READABLE}.")


def _nearby(path: Path) -> str:
    near = difflib.get_close_matches(str(path), shipped.names(), n=1, cutoff=0.75)
    guess = f" Did you mean '{near[0]}'?" if near else nearby(path)
    return f"no such file or directory.{guess} Shipped sets: {', '.join(shipped.names())}."
