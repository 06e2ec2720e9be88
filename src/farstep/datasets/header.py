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


def from_header(header: Mapping[str, Any], num_states: int, num_actions: int) -> dict[str, Any]:
    """Return keyword arguments for `Episodes`; an empty header gives plain names."""
    if not header:
        return {"signals": Signals.unnamed(num_states, num_actions)}
    try:
        return {
            "signals": Signals.from_json(header["signals"]),
            "system": header["system"],
            "metadata": header["metadata"],
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise FarstepError(f"the file's header is damaged ({error!r}).") from error
