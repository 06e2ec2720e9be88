"""RunDirectory: where a killed run continues. Every fit, agent, loop and sweep has one."""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from farstep.errors import FarstepError, did_you_mean, one_line
from farstep.runtime.machine import machine, versions
from farstep.storage import tensors
from farstep.storage.files import check_output, explained, locked, publish, remove_parts
from farstep.storage.fingerprint import fingerprint_of, flat, plain

CONFIG_FILE, RESULT_FILE = "config.json", "result.json"
_CHECKPOINT = ".checkpoint.safetensors"


class RunDirectory:
    """A run's `config.json`, checkpoints, outputs and, once it is finished, `result.json`.

    All files are written atomically, and the result last: it says that the run is complete. Another
    run's directory, or one that holds the outputs of no run, is refused. With `force` the run
    starts over; the files of the earlier run are removed when the first checkpoint or result is
    written.

    Without a path nothing is stored.
    """

    def __init__(
        self,
        path: str | Path | None,
        kind: str,
        config: Any,
        data: Mapping[str, str] | None = None,
        *,
        outputs: Sequence[str] = (),
        force: bool = False,
    ) -> None:
        """Describe the run; nothing is read or written yet.

        Args:
            path: The directory, which may be new.
            kind: A word for runs of this kind, such as `fit`.
            config: Everything but the data that the result depends on: a dataclass or a mapping.
            data: Fingerprints of the data, by name.
            outputs: Names or patterns of the files that the run writes beside its result.
            force: Start over, whatever the directory holds.
        """
        self.path = None if path is None else Path(path)
        self.kind, self.config, self.data = kind, plain(config), dict(data or {})
        self.fingerprint = fingerprint_of(kind=kind, config=self.config, data=self.data)
        self._outputs, self._replacing = tuple(outputs), force
        self._began, self._resumed = time.process_time(), False

    @contextlib.contextmanager
    def open(self, wait: bool = True) -> Iterator["RunDirectory"]:
        """Lock the directory and check that it is this run's; another process waits for it.

        Args:
            wait: Wait for another process, rather than raise `BusyError`.
        """
        if self.path is None:
            yield self
            return
        with locked(self.path, wait):
            self._check()
            yield self

    def _check(self) -> None:
        """Fail if the directory is another run's or another program's, or cannot be written to."""
        assert self.path is not None
        path = self.path / CONFIG_FILE
        stored = read_json(path)
        if path.exists() and (stored is None or "fingerprint" not in stored):
            raise FarstepError(f"{path} was not written by Farstep; choose another directory.")
        if stored is None and not self._replacing and (found := self._present(*self._outputs)):
            raise FarstepError(
                f"{found[0]} exists already; choose another directory, or pass --force "
                "(force=True) to replace it."
            )
        if stored and not self._replacing and stored["fingerprint"] != self.fingerprint:
            raise FarstepError(
                f"{self.path} holds a run with other settings or data{self._differences(stored)}; "
                "choose another directory, or pass --force (force=True) to start over."
            )
        self._resumed = stored is not None and not self._replacing
        if self.result() is None:
            check_output(path, force=True)
            return
        with contextlib.suppress(FarstepError):  # it can be read where nothing can be written
            self.remove_checkpoints()

    def _differences(self, stored: Mapping[str, Any]) -> str:
        """Return up to five settings that differ, with their stored values."""
        try:
            theirs, ours = (
                flat({"kind": one["kind"], **one["config"], "data": one["data"]})
                for one in (stored, {"kind": self.kind, "config": self.config, "data": self.data})
            )
        except (KeyError, TypeError):
            return ""
        names = [n for n in (*ours, *theirs) if ours.get(n) != theirs.get(n)]
        shown = [
            f"{n} {theirs.get(n)}" for n in dict.fromkeys(names) if n.partition(".")[0] != "data"
        ]
        return f" ({', '.join(shown[:5])})" if shown else " (other data)"

    def result(self) -> dict[str, Any] | None:
        """Return the stored result of this run; None if it is not finished."""
        stored = None if self.path is None or self._replacing else read_result(self.path)
        if stored is None or stored["fingerprint"] != self.fingerprint:
            return None
        return stored["result"]

    def finish(
        self, result: Mapping[str, Any], outputs: Mapping[str, bytes] | None = None
    ) -> dict[str, Any]:
        """Write the outputs, then the result; remove the checkpoints. Return the result as stored.

        Args:
            result: Plain values; missing numbers must be None.
            outputs: The contents of files, by name.
        """
        found = plain(result)
        if self.path is None:
            return found
        self.save_config()
        for name, content in (outputs or {}).items():
            publish(self.path / name, {"": content}, force=True)
        record = {
            "kind": self.kind,
            "fingerprint": self.fingerprint,
            "result": found,
            "cpu_seconds": None if self._resumed else round(time.process_time() - self._began, 1),
            "machine": machine(),
            "versions": versions(),
        }
        _write_json(self.path / RESULT_FILE, record)
        self.remove_checkpoints()
        return found

    def checkpoint(self, name: str = "run") -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Return the arrays and the header of a checkpoint; None if there is none yet."""
        if self.path is None or self._replacing or not (path := self._checkpoint(name)).exists():
            return None
        arrays, header = tensors.decode(path, "checkpoint")
        if header.get("fingerprint") != self.fingerprint:
            raise FarstepError(
                f"{path} is a checkpoint of another run; remove it, or pass --force."
            )
        return arrays, header

    def save_checkpoint(
        self, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any], name: str = "run"
    ) -> None:
        """Replace a checkpoint atomically."""
        if self.path is None:
            return
        self.save_config()
        content = tensors.encode(arrays, {**header, "fingerprint": self.fingerprint})
        publish(self._checkpoint(name), {"": content}, force=True)

    def remove_checkpoints(self) -> None:
        """Remove all checkpoints, and the parts of killed writes."""
        if self.path is not None:
            self._remove(f"*{_CHECKPOINT}")
            remove_parts(self.path)

    def _remove(self, *patterns: str) -> None:
        """Remove files by their names or by patterns."""
        assert self.path is not None
        with explained(self.path):
            for path in self._present(*patterns):
                path.unlink(missing_ok=True)

    def _present(self, *patterns: str) -> list[Path]:
        """Return the files in the directory with these names or patterns."""
        assert self.path is not None
        return [one for pattern in patterns for one in sorted(self.path.glob(pattern))]

    def save_config(self) -> None:
        """Take the directory over and store the configuration; every first write does so."""
        if self.path is None:
            return
        if self._replacing:
            self._remove(RESULT_FILE, *self._outputs)
            self.remove_checkpoints()
            self._replacing = False
        elif (self.path / CONFIG_FILE).exists():
            return
        config = {"kind": self.kind, "fingerprint": self.fingerprint}
        config |= {"config": self.config, "data": self.data}
        _write_json(self.path / CONFIG_FILE, config, allow_nan=True)  # such as an infinite limit

    def _checkpoint(self, name: str) -> Path:
        assert self.path is not None
        return self.path / f"{name}{_CHECKPOINT}"


def read_result(path: Path) -> dict[str, Any] | None:
    """Return the `result.json` of a directory: fingerprint, result, cpu_seconds, machine, versions.

    `cpu_seconds` is the time on a processor, None for a run that continued an earlier one.
    """
    stored = read_json(path / RESULT_FILE)
    if stored is None or not stored.keys() >= {"kind", "fingerprint", "result"}:
        return None
    return stored if isinstance(stored["result"], dict) else None


def finished_runs(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the configuration and result of every finished run below a directory, by its name."""
    found = {}
    for path in sorted(folder.rglob(RESULT_FILE)):
        stored, config = read_result(path.parent), read_json(path.parent / CONFIG_FILE)
        if stored is not None and config is not None:
            found[str(path.parent.relative_to(folder))] = {**config, **stored}
    return found


def run_named(folder: Path, name: str) -> dict[str, Any]:
    """Return one finished run by its name below a directory."""
    runs = finished_runs(folder)
    if name not in runs:
        raise FarstepError(f"there is no finished run '{name}' in '{folder}'. "
                           f"{did_you_mean(name, runs)}")  # fmt: skip
    return runs[name]


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None where there is no file, or no object in it."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise FarstepError(f"{path} cannot be read: {one_line(error)}") from error
    return found if isinstance(found, dict) else None


def _write_json(path: Path, content: Mapping[str, Any], allow_nan: bool = False) -> None:
    text = json.dumps(content, indent=1, allow_nan=allow_nan)
    publish(path, {"": text.encode() + b"\n"}, force=True)
