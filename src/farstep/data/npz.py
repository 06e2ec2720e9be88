"""Episodes as one NumPy archive, and the JSON header that all formats share."""

import hashlib
import io
import json
import mmap
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from farstep.data.episodes import ARRAYS, Episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError

_HEADER_MEMBER = re.compile(rb"PK\x03\x04.{22}\x0a\x00.{2}header\.npy", re.DOTALL)
"""The beginning of the header in an archive; damage to the archive's directory does not hide it."""


def encode(episodes: Episodes) -> bytes:
    """Return the archive's bytes."""
    arrays = {name: getattr(episodes, name) for name in ARRAYS}
    arrays = {name: value for name, value in arrays.items() if value is not None}
    header = np.frombuffer(json.dumps(to_header(episodes, arrays=[*arrays])).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=header, **arrays)
    return buffer.getvalue()


def read(path: Path) -> tuple[Episodes, Signals]:
    """Read an archive with at least `observations`, `actions` and `lengths`; refuse pickles."""
    if not zipfile.is_zipfile(path):
        raise FarstepError("not readable as NPZ: it is no archive, or its end is missing.")
    # NumPy would leave a damaged file open that it opened itself.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, ndim in {"observations": 2, "actions": 2, "lengths": 1}.items():
        if name not in arrays:
            raise FarstepError(
                f"there is no array '{name}' (there are {', '.join(arrays) or 'none'}); the file "
                "must hold observations (T + 1 of each episode), actions and lengths."
            )
        if arrays[name].ndim != ndim:
            wanted = "(rows, dimensions)" if ndim == 2 else "(episodes,)"
            raise FarstepError(f"{name} has shape {arrays[name].shape}; it must be {wanted}.")
    header = _header(path, arrays)
    return with_header({name: arrays[name] for name in ARRAYS if name in arrays}, header)


def _header(path: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the header of a complete archive; {} for an archive of another program."""
    if "header" in arrays:
        header = parse_header(arrays["header"].tobytes())
        lost = [name for name in header.get("arrays", ()) if name not in arrays]
        if lost:
            raise FarstepError(f"its directory is damaged: the array '{lost[0]}' is missing.")
        return header
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        if _HEADER_MEMBER.search(raw):
            raise FarstepError("its directory is damaged: the farstep header is missing.")
    return {}


def to_header(episodes: Episodes, **more: Any) -> dict[str, Any]:
    """Return signals, system, metadata and more, with a SHA-256 of them."""
    header = {
        "signals": episodes.signals.to_json(),
        "system": episodes.system,
        "metadata": dict(episodes.metadata),
        **more,
    }
    return {**header, "sha256": _sha256(header)}


def parse_header(text: str | bytes) -> dict[str, Any]:
    """Return a header that was stored as JSON, checked."""
    try:
        header = json.loads(text)
    except ValueError as error:
        raise FarstepError(f"its farstep header is damaged ({error}).") from error
    check_header(header)
    return header


def check_header(header: Any) -> None:
    """Fail unless a header is as it was written."""
    if not isinstance(header, dict):
        raise FarstepError(f"its farstep header is damaged (it is {header!r}).")
    rest = {name: value for name, value in header.items() if name != "sha256"}
    if header.get("sha256") != _sha256(rest):
        raise FarstepError("its farstep header is damaged: its contents were changed.")


def with_header(arrays: Mapping[str, Any], header: Mapping[str, Any]) -> tuple[Episodes, Signals]:
    """Join arrays with a checked header; an empty one gives the columns plain names.

    As every reader does, it returns episodes without bounds on actions, and the signals with them:
    the caller knows whether to clip.
    """
    if not header:
        sizes = (arrays[name].shape[1] for name in ("observations", "actions"))
        signals = Signals.unnamed(*sizes)
        return Episodes(**arrays, signals=signals), signals
    signals = Signals.from_json(header["signals"])
    rest = {"system": header["system"], "metadata": header["metadata"]}
    return Episodes(**arrays, **rest, signals=signals.unbounded()), signals


def _sha256(header: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
