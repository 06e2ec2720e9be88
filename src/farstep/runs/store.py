"""Where runs are kept: one directory each, marked as finished last, and never computed twice."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from farstep.datasets.reading import read
from farstep.errors import FarstepError
from farstep.files import BusyError, explained, locked, publish
from farstep.machine import machine
from farstep.packages import versions
from farstep.programs import drop_programs_if_many
from farstep.runs.run import Run, name_of, plain

RECORD = "run.json"
"""Says that a run is finished, what it was and what it gave; the last file that is written."""
_NAME = re.compile(r"[a-z_]+-[0-9a-f]{16}")
"""Of a run's directory, as `name_of` makes them."""
_VERSIONS = ("farstep", "jax", "numpy", "gymnasium", "mujoco", "dm_control")


@dataclass(frozen=True)
class Store:
    """A directory of runs, on top of others whose records are only read."""

    folder: Path
    records: tuple[Path, ...] = ()
    """Directories of records, such as those that are committed: a run that is recorded there is
    done, though its models may not be there."""

    def run(self, run: Run, wait: bool = True, here: bool = False) -> dict[str, Any]:
        """Return the result of a run; of two processes that ask for it, one computes it.

        Args:
            run: What is asked for.
            wait: Whether to wait for a process that computes it, rather than raise `BusyError`.
            here: Whether its files are needed too, so that a record elsewhere is not enough.
        """
        found = self.record(run, here)
        if found is not None:
            return found["result"]
        place = self.place(run)
        with locked(place, wait):
            found = self.record(run, here)  # another process may have been at it
            if found is None:
                there = [path.name for path in place.iterdir() if not path.name.startswith(".")]
                goes_on = bool(there) and RECORD not in there  # one on other data begins anew
                began = time.process_time()  # of this process: others may share its core
                result = plain(run.compute(place, self))
                seconds = None if goes_on else round(time.process_time() - began, 1)
                found = self._finish(run, result, seconds)
                drop_programs_if_many()
            return found["result"]

    def record(self, run: Run, here: bool = False) -> dict[str, Any] | None:
        """Return all that is known of a finished run; None if it is not, or was on other data.

        Args:
            run: What is asked for.
            here: Whether only this directory counts, which has a run's files beside its record.
        """
        settings = plain(run.settings)
        for folder in (self.folder, *(() if here else self.records)):
            found = read_record(folder / name_of(run))
            if found is None or found["settings"] != settings:
                continue
            if found["data"] == _fingerprints(run):
                return found
        return None

    def place(self, run: Run) -> Path:
        """Return the run's directory."""
        return self.folder / name_of(run)

    def missing(self, runs: Sequence[Run], here: bool = False) -> list[Run]:
        """Return the runs that are not finished, or are but not `here`; each once."""
        return [run for run in dict.fromkeys(runs) if self.record(run, here) is None]

    def finished(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all runs in the directory, with their names, in order."""
        for path in sorted(self.folder.glob(f"*/{RECORD}")):
            found = read_record(path.parent)
            if found is not None:
                yield {"name": path.parent.name, **found}

    def remove(self, name: str) -> None:
        """Remove a run, finished or not."""
        place = self.folder / name
        if not _NAME.fullmatch(name) or not place.is_dir():  # no other directory is ever removed
            raise FarstepError(f"there is no run '{name}' in {self.folder}.")
        try:
            with explained(place), locked(place, wait=False):
                (place / RECORD).unlink(missing_ok=True)  # first: half of a run is no finished one
                shutil.rmtree(place)
        except BusyError as error:
            raise FarstepError(f"{place} is being computed; stop that first.") from error

    def _finish(self, run: Run, result: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        """Write a run's record; of one that went on after a kill the time is not known."""
        record = {
            "kind": run.kind,
            "settings": plain(run.settings),
            "data": _fingerprints(run),
            "result": result,
            "seconds": seconds,
            "usual_seconds": round(run.usual_seconds, 1),
            "versions": versions(_VERSIONS),
            "revision": revision(),
            "machine": machine(),
        }
        publish(self.place(run) / RECORD, {"": json.dumps(record).encode() + b"\n"}, force=True)
        return record


def read_record(place: Path) -> dict[str, Any] | None:
    """Return a run's record, if it is there and whole."""
    try:
        found = json.loads((place / RECORD).read_text())
        return found if found.keys() >= {"kind", "settings", "data", "result", "seconds"} else None
    except (OSError, ValueError, AttributeError):
        return None


@cache
def revision() -> str | None:
    """Return the revision of the source, if it is a Git checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():  # an installed package may lie in someone else's checkout
        return None
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip()


def _fingerprints(run: Run) -> str | None:
    """Return what tells the data that a run reads from others of those names."""
    return "+".join(map(_fingerprint, run.reads)) or None


def _fingerprint(data: str) -> str:
    """Return what tells the data from others; a shipped set and a file are read once each."""
    path = Path(data)
    if not path.exists():
        return _read_fingerprint(data, ())
    told = path.stat()  # by several things: a clock that was set back gives an old time again
    return _read_fingerprint(data, (told.st_mtime_ns, told.st_ctime_ns, told.st_size, told.st_ino))


@cache
def _read_fingerprint(data: str, changed: tuple[int, ...]) -> str:
    del changed
    return read(data).fingerprint
