"""What a file holds beside the numbers, as JSON: signals, system and metadata."""

from collections.abc import Mapping
from typing import Any

from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.signals import Signals


def to_header(episodes: Episodes) -> dict[str, Any]:
    """Return the parts of `episodes` that are not arrays."""
    return {
        "signals": episodes.signals.to_json(),
        "system": episodes.system,
        "metadata": dict(episodes.metadata),
    }


def with_header(
    arrays: Mapping[str, Any], header: Mapping[str, Any], clip_actions: bool = False
) -> Episodes:
    """Join arrays with a header; an empty one gives plain names."""
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
