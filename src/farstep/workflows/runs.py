"""Run and Store: computations that are done once and kept in a directory each."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from farstep.data.dataset_files import read_dataset
from farstep.runtime.compilation import drop_programs_if_many
from farstep.storage.fingerprint import plain
from farstep.storage.run_directory import RunDirectory


class Run(ABC):
    """One computation whose result depends on its settings and data alone.

    Subclasses are frozen dataclasses, so that runs can be compared, hashed and sent to workers.
    """

    kind: ClassVar[str]
    """A word for runs of this class, such as `trial`."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the data that the result depends on: by default, all fields."""
        return plain(self)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names or paths of the datasets that it uses; other data make it another run."""
        return ()

    @property
    def needs(self) -> Sequence["Run"]:
        """Runs that must be finished before this one."""
        return ()

    @property
    def usual_seconds(self) -> float:
        """About how long it takes on one core; the longest runs start first."""
        return 60.0

    def check(self) -> None:  # noqa: B027  most have nothing to check
        """Fail now if it could not be computed on this machine."""

    @abstractmethod
    def compute(self, directory: Path, store: "Store") -> dict[str, Any]:
        """Return the result as plain values.

        Args:
            directory: The run's own directory, for its files. A killed run finds them there again.
            store: Gives results (`store.run`) and directories (`store.directory`) of other runs.
        """


@dataclass(frozen=True)
class Store:
    """A directory of runs: one `RunDirectory` for each, named after its kind and fingerprint."""

    folder: Path

    def directory(self, run: Run) -> Path:
        """Return the directory of a run."""
        path = self._run_directory(run).path
        assert path is not None, "set below"
        return path

    def result(self, run: Run) -> dict[str, Any] | None:
        """Return the result of a finished run; None if it is not finished."""
        return self._run_directory(run).result()

    def run(self, run: Run, wait: bool = True) -> dict[str, Any]:
        """Return the result of a run, and compute it first if it is not finished.

        Args:
            run: What to compute.
            wait: Wait for another process that computes it, rather than raise `BusyError`.
        """
        directory = self._run_directory(run)
        if (found := directory.result()) is not None:
            return found
        with directory.open(wait):
            found = directory.result()  # another process may have finished it meanwhile
            if found is None:
                directory.save_config()
                found = directory.finish(run.compute(self.directory(run), self))
                drop_programs_if_many()
            return found

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Return the runs that are not finished, each once."""
        return [run for run in dict.fromkeys(runs) if self.result(run) is None]

    def _run_directory(self, run: Run) -> RunDirectory:
        data = {name: data_fingerprint(name) for name in run.reads}
        found = RunDirectory(None, run.kind, run.settings, data)
        found.path = self.folder / f"{run.kind}-{found.fingerprint[:16]}"
        return found


def data_fingerprint(data: str) -> str:
    """Return the fingerprint of a dataset; a file is read again only after it has changed."""
    path = Path(data)
    if not path.exists():
        return _read_fingerprint(data, ())
    # Several fields, since a clock that was set back repeats a time.
    stat = path.stat()
    return _read_fingerprint(data, (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino))


@cache
def _read_fingerprint(data: str, version: tuple[int, ...]) -> str:
    del version
    return read_dataset(data).fingerprint
