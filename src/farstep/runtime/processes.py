"""Processes: how many, ending with the one that started them, and at once at Ctrl-C."""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WRITING = threading.RLock()
"""Held while something is written: Ctrl-C waits for it before it ends the process."""

_END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG."""
_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""As `python -W` takes it; processes that are started inherit it."""
_PATIENCE = 30
"""Seconds that a write may take before it is given up."""
WORKERS_DIE = (
    "A script that starts several workers needs `if __name__ == '__main__':` around its code; "
    "otherwise they may have run out of memory: try fewer."
)
STOPPED = "farstep: stopped; what was finished before is kept."


def usable_cores() -> int:
    """Return how many of the machine's cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def end_with_parent(parent: int) -> None:
    """Make this worker end with its parent, however the parent ends (on Linux), and at Ctrl-C."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


@contextmanager
def ctrl_c_ends_at_once() -> Iterator[None]:
    """End the process at Ctrl-C, without unwinding: every file is written whole or not at all.

    Python would raise `KeyboardInterrupt` only between two of its own steps: after a compilation or
    a compiled program, and not at all in a callback. So a thread waits for the signal and ends the
    process.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:  # in the background of a shell script
        yield
        return
    # Python's helper that clears up after a process that ended so would complain of it.
    if _QUIET not in sys.warnoptions:
        sys.warnoptions.append(_QUIET)
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGINT, lambda *_: None)
    woken = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    thread = threading.Thread(target=_wait, args=(heard,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGINT, before)
        os.close(told)  # which ends the thread
        thread.join()
        os.close(heard)


def _wait(heard: int) -> None:
    """End the process when the signal's number comes through the pipe."""
    while number := os.read(heard, 1):
        if number[0] == signal.SIGINT:
            _end()


def _end() -> None:
    """Finish the file that is being written, report the stop, and end the process."""
    try:
        WRITING.acquire(timeout=_PATIENCE)
        shown_again = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # the cursor, under the bar
        os.write(2, f"{shown_again}{STOPPED}\n".encode())
    except (OSError, ValueError, AttributeError):  # nobody reads it
        pass
    finally:
        os._exit(130)
