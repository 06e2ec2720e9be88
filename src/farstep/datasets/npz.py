"""Episodes as one NumPy archive: the flat arrays, and the rest as JSON."""

import io
import json
import mmap
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from farstep.datasets.header import check_header, to_header, with_header
from farstep.episodes import Episodes
from farstep.errors import FarstepError, one_line

_REQUIRED = ("states", "actions", "lengths")
_OPTIONAL = ("rewards", "terminated", "truncated", "clean_states")

_HEADER_MEMBER = re.compile(rb"PK\x03\x04.{22}\x0a\x00.{2}header\.npy", re.DOTALL)
"""How the header begins in an archive, whatever became of the archive's directory."""

_UNREADABLE = (
    *(ValueError, TypeError, AttributeError, EOFError, KeyError, OSError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
)


def encode(episodes: Episodes) -> bytes:
    """Return the archive's bytes."""
    arrays = {
        name: getattr(episodes, name)
        for name in (*_REQUIRED, *_OPTIONAL)
        if getattr(episodes, name) is not None
    }
    header = np.frombuffer(json.dumps(to_header(episodes, arrays=[*arrays])).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=header, **arrays)
    return buffer.getvalue()


def read(path: Path, clip_actions: bool = False) -> Episodes:
    """Read an archive with at least `states`, `actions` and `lengths`; pickles are refused."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except _UNREADABLE as error:
        why = "it is no archive of numbers" if isinstance(error, ValueError) else one_line(error)
        raise FarstepError(f"not readable as NPZ: {why}.") from error
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        raise FarstepError(
            f"there is no array '{missing[0]}' (there are {', '.join(arrays) or 'none'}); it "
            "must hold states (all T + 1 of each episode), actions and lengths."
        )
    header = _header(path, arrays)
    known = {name: arrays[name] for name in (*_REQUIRED, *_OPTIONAL) if name in arrays}
    for name in ("states", "actions"):
        if known[name].ndim != 2:
            raise FarstepError(
                f"{name} has shape {known[name].shape}; it must be (rows, dimensions)."
            )
    return with_header(known, header, clip_actions)


def _header(path: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the header of a whole archive; one that others wrote has none."""
    if "header" in arrays:
        try:
            header = json.loads(arrays["header"].tobytes())
        except ValueError as error:
            raise FarstepError(f"its farstep header is damaged ({error}).") from error
        check_header(header)
        written = header.get("arrays", [])
        lost = [name for name in written if name not in arrays] if isinstance(written, list) else []
        if lost:
            raise FarstepError(f"its directory is damaged: it was written with '{lost[0]}'.")
        return header
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        if _HEADER_MEMBER.search(raw):
            raise FarstepError("its directory is damaged: it was written with a header.")
    return {}
