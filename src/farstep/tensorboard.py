"""Curves as TensorBoard event files, while something is trained."""

import errno
import os
import struct
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from farstep.files import explained


class TensorBoard:
    """Writes named numbers against a step; without a directory it writes nothing.

    tensorboardX gives the format; its own writer hands events to a thread, which is lost with the
    process, and ends, with everything that waits for it, when the disk is full.
    """

    def __init__(self, folder: Path | None, start: int = 0) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        if folder is not None:
            from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]

            with explained(folder):
                folder.mkdir(parents=True, exist_ok=True)
                self._file = (folder / _name()).open("wb", buffering=0)
            began = SessionLog(status=SessionLog.START)  # hides what a killed run wrote after it
            self._write(Event(step=start, wall_time=time.time(), file_version="brain.Event:2"))
            self._write(Event(step=start, wall_time=time.time(), session_log=began))

    def add(self, values: Mapping[str, float | None], step: int) -> None:
        """Write the values of one step to the file, so that a killed run misses nothing.

        None, which stands for what is no number, is left out.
        """
        if self._file is None:
            return
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.summary import scalar

        for name, value in values.items():
            if value is not None:
                self._write(Event(step=step, wall_time=time.time(), summary=scalar(name, value)))

    def _write(self, event: Any) -> None:
        assert self._file is not None and self._folder is not None
        record = _record(event.SerializeToString())
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


def _name() -> str:
    # By the clock alone, what is started again in the same second would replace the file.
    return f"events.out.tfevents.{int(time.time())}.{uuid.uuid4().hex[:12]}"


def _record(data: bytes) -> bytes:
    """Return data as TensorFlow's files of records hold them."""
    size = struct.pack("<Q", len(data))
    return size + _checksum(size) + data + _checksum(data)


def _checksum(data: bytes) -> bytes:
    from tensorboardX.record_writer import masked_crc32c

    return struct.pack("<I", masked_crc32c(data))
