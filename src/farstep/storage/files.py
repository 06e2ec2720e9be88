"""Files that are either as they were or complete: written to a temporary name, then renamed."""

import contextlib
import ctypes
import difflib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO

from farstep.errors import FarstepError
from farstep.runtime.processes import WRITING

_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space or choose another place.",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another place.",
    errno.EFBIG: "the file would be larger than this process may write; raise the limit.",
    errno.EACCES: "permission denied; choose a directory that you may write to.",
    errno.EPERM: "permission denied; choose a directory that you may write to.",
    errno.EROFS: "the file system is read-only; choose another place.",
}
_LOCK = ".lock"
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
SINGLE = ("",)
"""The contents of an output that is one file."""


def check_output(path: Path, force: bool = False, names: Collection[str] = SINGLE) -> None:
    """Fail now, before any work, if `path` could not be written after it.

    Args:
        path: The file or directory to write.
        force: Whether existing files may be replaced.
        names: The files that will be in it: `SINGLE` for one file, relative names for a directory.
            A directory that holds anything else is never replaced.
    """
    with explained(path):
        if path.exists():
            _check_replaceable(path, force, names)
        existing = next(parent for parent in path.absolute().parents if parent.exists())
        if existing.is_file():
            raise FarstepError(f"cannot write {path}: {existing} is a file, not a directory.")
        with tempfile.TemporaryFile(dir=existing):
            pass


def publish(path: Path, contents: Mapping[str, bytes], force: bool = False) -> None:
    """Write a file, or a directory of files, so that a crash leaves the old one or the new one.

    Args:
        path: Where it goes; directories on the way are made.
        contents: `{"": data}` for the single file `path`; `{"name": data, …}` with relative
            names for a directory `path`.
        force: Replace an existing path. Without it, an existing path is an error.
    """
    check_output(path, force, list(contents))
    with WRITING, explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            new = scratch / "new"
            with _held(scratch, fcntl.LOCK_EX):
                for name, data in contents.items():
                    _write(new / name if name else new, data)
                _swap(new, path, scratch / "old")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


class BusyError(Exception):
    """Another process is at work in a directory."""


@contextlib.contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Let one process at a time work in a directory; the others wait. A killed process releases it.

    If the work fails before anything is written, a new directory is removed again.

    Args:
        folder: The directory.
        wait: Whether to wait for another process, rather than raise `BusyError`.
    """
    new = not folder.exists()
    with _lock_of(folder, wait):
        try:
            yield
        except BaseException:
            if new and folder.exists() and [path.name for path in folder.iterdir()] == [_LOCK]:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _lock_of(folder: Path, wait: bool) -> IO[str]:
    """Return the open file by which a directory is locked, once it is this process's."""
    with explained(folder):
        while True:
            if folder.is_file():
                raise FarstepError(
                    f"cannot write to {folder}: it is a file; name a directory, which may be new."
                )
            folder.mkdir(parents=True, exist_ok=True)
            try:
                file = (folder / _LOCK).open("w")
            except OSError as error:
                if error.errno == errno.ENOENT:  # another process removed the directory
                    continue
                if error.errno in _READ_ONLY:  # what is there can be read without a lock
                    return Path(os.devnull).open("w")
                raise
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.close()
                raise BusyError(folder) from error
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), (folder / _LOCK).stat()):
                    return file
            file.close()  # the directory was removed while we waited


def remove_parts(folder: Path) -> None:
    """Remove the temporary files of killed writes from a directory, but not of running ones."""
    for path in folder.glob(".*.part"):
        with (
            contextlib.suppress(BlockingIOError, FileNotFoundError),
            _held(path, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _held(scratch: Path, how: int) -> Iterator[None]:
    """Lock the directory of one write, so that no other process removes it as a killed one's."""
    number = os.open(scratch, os.O_RDONLY)
    try:
        fcntl.flock(number, how)
        yield
    finally:
        os.close(number)


def _check_replaceable(path: Path, force: bool, names: Collection[str]) -> None:
    if not force:
        raise FarstepError(
            f"{path} exists already and is left as it is; choose another path or pass --force "
            "(force=True) to replace it."
        )
    if path.is_dir():
        inside = {str(entry.relative_to(path)) for entry in path.rglob("*") if not entry.is_dir()}
        others = sorted(inside - set(names))
        if others or "" in names:
            raise FarstepError(
                f"{path} is a directory that holds other things ({', '.join(others[:3]) or 'none'})"
                " and is not replaced; choose another path."
            )


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
        try:
            new.rename(path)
        except BaseException:
            old.rename(path)
            raise


def _exchange(one: Path, other: Path) -> bool:
    """Swap two paths atomically (Linux's renameat2); return whether that was possible."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_cwd, exchange = -100, 2
    return renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange) == 0


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one line why something cannot be written, and what to do."""
    try:
        yield
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0, f"{error.strerror or error}.")
        raise FarstepError(f"cannot write {path}: {reason}") from error


def nearby(path: Path) -> str:
    """Return a sentence with the name closest to a path that does not exist, or an empty text."""
    names = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f" Did you mean '{path.parent / near[0]}'?" if near else ""
