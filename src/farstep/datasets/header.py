"""What a file holds beside the numbers, as JSON: signals, system and metadata."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.signals import Signals

_SEAL = "sha256"


def to_header(episodes: Episodes, **more: Any) -> dict[str, Any]:
    """Return the parts of `episodes` that are not arrays, and more; with a SHA-256 of all that."""
    header = {
        "signals": episodes.signals.to_json(),
        "system": episodes.system,
        "metadata": dict(episodes.metadata),
        **more,
    }
    return {**header, _SEAL: _digest(header)}


def check_header(header: Any) -> None:
    """Fail if a header is not as it was written. Those of before they had a hash are taken."""
    if not isinstance(header, dict):
        raise FarstepError(f"its farstep header is damaged (it is {header!r}).")
    if _SEAL in header:
        rest = {name: value for name, value in header.items() if name != _SEAL}
        if header[_SEAL] != _digest(rest):
            raise FarstepError("its farstep header is damaged; it is not what was written.")


def _digest(header: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def with_header(
    arrays: Mapping[str, Any], header: Mapping[str, Any], clip_actions: bool = False
) -> Episodes:
    """Join arrays with a header; an empty one gives plain names."""
    check_header(header)
    try:
        signals = (
            Signals.from_json(header["signals"])
            if header
            else Signals.unnamed(arrays["states"].shape[1], arrays["actions"].shape[1])
        )
        rest = {"system": header["system"], "metadata": header["metadata"]} if header else {}
    except (KeyError, TypeError, AttributeError) as error:
        raise FarstepError(f"its farstep header is damaged ({error!r}).") from error
    if clip_actions:
        unbounded = Episodes(**arrays, **rest, signals=signals.unbounded())
        return unbounded.with_signals(signals, clip_actions)
    return Episodes(**arrays, **rest, signals=signals)
