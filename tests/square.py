"""A run that only squares its number, to test what computes runs."""

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any, ClassVar

from farstep.workflows.runs import Run, Store


@dataclasses.dataclass(frozen=True)
class Square(Run):
    """A run without data."""

    number: int
    times_killed: int = 0
    """Kills its worker this many times first."""
    after: tuple["Square", ...] = ()

    kind: ClassVar[str] = "square"

    @property
    def settings(self) -> dict[str, Any]:
        return {"number": self.number, "after": [one.settings for one in self.after]}

    @property
    def needs(self) -> tuple[Run, ...]:
        return self.after

    @property
    def usual_seconds(self) -> float:
        return float(self.number)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        mark = directory / "starts"
        mark.write_text((mark.read_text() if mark.exists() else "") + ".")
        if len(mark.read_text()) <= self.times_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        before = sum(store.run(one)["square"] for one in self.after)
        threads = os.environ.get("OMP_NUM_THREADS")
        return {"square": self.number**2 + before, "return": float(self.number), "threads": threads}
