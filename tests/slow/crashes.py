"""A crash at the n-th change of the disk; after it the disk does not change."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from farstep.storage import files


class Crash(BaseException):
    """Stands for a kill: nobody catches it."""


def crashes(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], at: int) -> bool:
    """Crash before the `at`-th change of the disk by some work; return whether it came to that."""
    count = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count >= at:
                raise Crash
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for owner, name in (
            (tempfile, "mkdtemp"),
            (shutil, "rmtree"),
            (files.os, "fsync"),
            (files, "_exchange"),
            *((Path, name) for name in ("open", "replace", "rename", "unlink", "mkdir")),
        ):
            patch.setattr(owner, name, counted(getattr(owner, name)))
        try:
            work()
        except Crash:
            return True
    return False
