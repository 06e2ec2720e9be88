"""Processes that end with the one that started them, and a Ctrl-C that is heard at once."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""As `python -W` takes it; processes that are started inherit it."""
STOPPED = "farstep: stopped; what was finished before is kept."


def end_with_parent(parent: int) -> None:
    """Have this worker end with its parent however that ends (on Linux), and at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@contextmanager
def ctrl_c_ends_at_once() -> Iterator[None]:
    """End the process at Ctrl-C, without unwinding: every file is written whole or not at all.

    An exception would wait for workers and compilations, and can get lost in a callback.
    """
    # Python's helper that clears up after a process that ended so would complain of it.
    if _QUIET not in sys.warnoptions:
        sys.warnoptions.append(_QUIET)
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    shown_again = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # the cursor, under the bar
    os.write(2, f"{shown_again}{STOPPED}\n".encode())
    os._exit(130)
