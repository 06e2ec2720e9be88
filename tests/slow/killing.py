"""A process that starts copies of itself, kills them, and checks the files that they leave."""

import dataclasses
import json
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.slow.tasks import Task, incomplete, named_files

_LIMIT = 3600.0
"""Seconds after which a task that was not killed is taken to hang."""


@dataclasses.dataclass
class Kills:
    """The counts and faults of one task."""

    task: str
    seconds: float
    """Duration of the task if it is not killed, without the imports."""
    writing: float = 0.0
    """Of these, the seconds after the first file: before it, programs are compiled."""
    kills: int = 0
    ends: int = 0
    """How often it was finished after kills, and its result compared."""
    files: int = 0
    """Files that were read after kills."""
    litter: int = 0
    """Temporary files that were left when it was finished."""
    faults: list[str] = dataclasses.field(default_factory=list)


def forked(work: Callable[[], Any], answer: Path) -> int:
    """Start a copy of this process that does some work and stores the result; return its id.

    Python and JAX are imported already, so a start takes no time; JAX must not have been used.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of copies; its threads are not started yet
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        warnings.simplefilter("ignore")
        answer.write_text(json.dumps(work()))
        code = 0
    except BaseException:
        answer.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def _ended(pid: int, within: float) -> bool:
    """Wait for a process to end by itself; return whether it did."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.001)
    return False


def _until_written(pid: int, out: Path) -> bool:
    """Wait for a file that is newer than now; return whether the process ended before."""
    began = time.time()
    while not _ended(pid, 0.005):
        with suppress(FileNotFoundError):  # one that was removed while we looked
            if any(path.stat().st_mtime > began for path in named_files(out)):
                return False
    return True


def _done(work: Callable[[], Any], answer: Path) -> Any:
    """Return the result of some work that is not killed."""
    pid = forked(work, answer)
    if not _ended(pid, _LIMIT):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise RuntimeError("it does not end")
    return json.loads(answer.read_text())


def killed(task: Task, count: int, folder: Path, rng: np.random.Generator) -> Kills:
    """Kill a task `count` times at random moments, and start it again until it is finished."""
    answer, whole = folder / "answer", folder / "whole"
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:  # compile first: it is not in the times
        _done(lambda: task.run(folder / "compile"), answer)
    began = time.monotonic()
    pid = forked(lambda: task.run(whole), answer)
    _until_written(pid, whole)
    first = time.monotonic()
    _ended(pid, _LIMIT)
    found = Kills(task.name, time.monotonic() - began, time.monotonic() - first)
    expected = _done(lambda: task.result(whole), answer)
    found.faults += _two_at_once(task, folder / "both", expected)
    while found.kills < count:
        out = folder / f"chain-{found.ends}"
        _chain(task, count, out, answer, found, rng)
        result = _done(lambda out=out: task.result(out), answer)
        if result != expected:
            found.faults.append(f"chain {found.ends} has another result")
        found.litter += sum(1 for _ in out.rglob("*.part"))
        found.ends += 1
    return found


def _two_at_once(task: Task, folder: Path, expected: Any) -> list[str]:
    """Start a task twice in one directory; return what is wrong with the results."""
    folder.mkdir()
    answers = [folder / "first", folder / "second"]
    both = [forked(lambda: task.run(folder), answer) for answer in answers]
    for pid in both:
        if not _ended(pid, _LIMIT):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    wrong = [f"of two: {one.read_text()}" for one in answers if one.read_text() != "null"]
    if _done(lambda: task.result(folder), folder / "result") != expected:
        wrong.append("two at once have another result")
    return wrong


def _chain(
    task: Task, count: int, out: Path, answer: Path, found: Kills, rng: np.random.Generator
) -> None:
    """Start the task again and again until it is finished."""
    while True:
        answer.unlink(missing_ok=True)
        pid = forked(lambda: task.run(out), answer)
        if found.kills >= count:
            ended = _ended(pid, _LIMIT)
        elif found.kills % 2:
            ended = _until_written(pid, out) or _ended(pid, rng.uniform(0, found.writing))
        else:
            ended = _ended(pid, rng.uniform(0, found.seconds))
        if ended:
            if answer.read_text() != "null":
                found.faults.append(f"a start failed: {answer.read_text()}")
            return
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found.kills += 1
        count_of, wrong = incomplete(out)
        found.files += count_of
        found.faults += wrong
