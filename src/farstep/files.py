"""Files that are either as they were or complete: written to a temporary name, then renamed."""

import contextlib
import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from farstep.errors import FarstepError


def check_output(path: Path, force: bool = False) -> None:
    """Fail now, before any work, if `path` could not be written at the end of it."""
    if path.exists() and not force:
        raise FarstepError(
            f"{path} exists already and is left as it is; choose another path or pass --force "
            "(force=True) to replace it."
        )
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def publish(path: Path, contents: Mapping[str, bytes], force: bool = False) -> None:
    """Write a file, or a directory of files, so that a crash leaves the old one or the new one.

    Args:
        path: Where it goes.
        contents: `{"": data}` for the single file `path`; `{"name": data, …}` with relative
            names for a directory `path`.
        force: Replace what is there. Without it, an existing path is an error.
    """
    check_output(path, force)
    with _explained(path):
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            new = scratch / "new"
            for name, data in contents.items():
                _write(new / name if name else new, data)
            _swap(new, path, scratch / "old")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _swap(new: Path, path: Path, old: Path) -> None:
    """Put `new` in the place of `path`, in one step where the system can do that."""
    if not path.is_dir() and not new.is_dir():
        new.replace(path)
    elif not path.exists():
        new.rename(path)
    elif not _exchange(new, path):
        # Elsewhere a directory needs two renames; a crash between them leaves the old one
        # under the temporary name beside `path`.
        path.rename(old)
        new.rename(path)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two paths atomically (Linux's renameat2); return whether that was possible."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_cwd, exchange = -100, 2
    return renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange) == 0


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FarstepError(f"cannot write {path}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    advice = {
        errno.ENOSPC: "the disk is full; free some space or choose another place.",
        errno.EDQUOT: "the disk quota is used up; free some space or choose another place.",
        errno.EFBIG: "the file would be larger than this process may write; raise the limit.",
        errno.EACCES: "permission denied; choose a directory that you may write to.",
        errno.EPERM: "permission denied; choose a directory that you may write to.",
        errno.EROFS: "the file system is read-only; choose another place.",
    }
    return advice.get(error.errno or 0, f"{error.strerror or error}.")
