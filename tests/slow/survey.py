"""The outcome of reading a damaged file: a clear error, the right result, or a fault."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from farstep.errors import FarstepError
from tests.slow.formats import FORMATS, JSON, SAFETENSORS, Sample
from tests.slow.mutations import damaged, forged, forged_json

REFUSED, SAME, OTHER = "refused", "read as it was", "read as something else"
_ALLOWED = {"sealed": {REFUSED, SAME}, "open": {REFUSED, SAME, OTHER}}
_RUNS = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
"""Events that a file must not cause, since they run code of its choice."""
_ran: list[str] = []


def watch_for_code() -> None:
    """Record from now on whether such an event happens."""

    def hook(event: str, arguments: object) -> None:
        if event in _RUNS:
            _ran.append(event)

    sys.addaudithook(hook)


def outcome(sample: Sample, expected: object) -> str:
    """Read a damaged file; return the outcome in words, or the fault."""
    _ran.clear()
    try:
        found = sample.read()
    except FarstepError as error:
        message = str(error)
        if "\n" in message:
            return f"fault: an error of several lines: {message!r}"
        if sample.path.parent.name not in message:
            return f"fault: an error that does not name the file: {message}"
        return REFUSED
    except Exception as error:
        return f"fault: {type(error).__name__}: {error}"
    if _ran:
        return f"fault: the file ran {_ran[0]}"
    return SAME if found == expected else OTHER


def check(outcome: str, sealed: bool) -> str:
    """Return the outcome, which may be a fault for a file with a checksum."""
    allowed = _ALLOWED["sealed" if sealed else "open"]
    if outcome in allowed or outcome.startswith("fault"):
        return outcome
    return f"fault: {outcome}"


def mutated(name: str, folder: Path, numbers: range) -> Iterator[tuple[int, str]]:
    """Yield the outcome of each mutation; a number gives the same one every time."""
    sample = FORMATS[name](folder)
    whole, expected = sample.path.read_bytes(), sample.read()
    assert sample.read() == expected
    for number in numbers:
        rng = np.random.default_rng(number)
        inside = number % 2 == 1 and name in SAFETENSORS
        if inside:
            content = forged(whole, rng)
        elif number % 2 == 1 and name.startswith(JSON):
            content = _json(whole, rng)
        else:
            content = damaged(whole, rng)
        _replace(sample.path, content)
        yield number, check(outcome(sample, expected), sample.sealed and not inside)


def truncated(name: str, folder: Path, most: int | None = None) -> Counter[str]:
    """Count the outcomes of every truncation of a file, or of `most` at equal distances."""
    sample = FORMATS[name](folder)
    whole, expected = sample.path.read_bytes(), sample.read()
    found: Counter[str] = Counter()
    for size in range(0, len(whole), -(-len(whole) // most) if most else 1):
        _replace(sample.path, whole[:size])
        found[check(outcome(sample, expected), sample.sealed)] += 1
    return found


def _json(whole: bytes, rng: np.random.Generator) -> bytes:
    return json.dumps(forged_json(json.loads(whole), rng)).encode()


def _replace(path: Path, content: bytes) -> None:
    # As a new file: a library may still hold the old one.
    new = path.with_name("new")
    new.write_bytes(content)
    os.replace(new, path)  # noqa: PTH105
