"""Curves as TensorBoard event files, while something is trained."""

import errno
import importlib
import os
import struct
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from farstep.storage.files import explained


class TensorBoard:
    """Writes named numbers against a step; without a directory it writes nothing.

    The format is tensorboardX's. Its own writer is not used: it hands events to a thread, which is
    lost when the process is killed, and which hangs its callers when the disk is full.
    """

    def __init__(self, folder: Path | None, start: int = 0) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        if folder is not None:
            events = _part("proto.event_pb2")
            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
                # By the clock alone, a run that starts again in the same second would replace it.
                name = f"events.out.tfevents.{int(time.time())}.{uuid.uuid4().hex[:12]}"
                self._file = (folder / name).open("wb", buffering=0)
            self._event = events.Event
            # It hides what a killed run wrote after it.
            began = events.SessionLog(status=events.SessionLog.START)
            self._write(step=start, file_version="brain.Event:2")
            self._write(step=start, session_log=began)

    def add(self, values: Mapping[str, float | None], step: int) -> None:
        """Write the values of one step to the file, so that a killed run misses nothing.

        None stands for a missing number and is left out.
        """
        if self._file is None:
            return
        scalar = _part("summary").scalar
        for name, value in values.items():
            if value is not None:
                self._write(step=step, summary=scalar(name, value))

    def _write(self, **fields: Any) -> None:
        assert self._file is not None and self._folder is not None
        data = self._event(wall_time=time.time(), **fields).SerializeToString()
        size, checksum = struct.pack("<Q", len(data)), _part("record_writer").masked_crc32c
        # As TensorFlow's files of records hold it.
        record = size + struct.pack("<I", checksum(size)) + data + struct.pack("<I", checksum(data))
        with explained(self._folder):
            if self._file.write(record) != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __enter__(self) -> "TensorBoard":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _part(name: str) -> Any:
    """Return a module of tensorboardX, imported without PyTorch.

    It would import that where it is installed, which takes seconds, for types that are not used.
    """
    whole = f"tensorboardX.{name}"
    if whole not in sys.modules:
        hidden = "torch" not in sys.modules
        if hidden:
            sys.modules["torch"] = None  # type: ignore[assignment]
        try:
            importlib.import_module(whole)
        finally:
            if hidden:
                del sys.modules["torch"]
    return sys.modules[whole]
