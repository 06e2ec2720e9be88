"""What a run is: settings that say all that its result depends on, and how it is computed."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from farstep.fields import identity_of


@runtime_checkable
class Runs(Protocol):
    """What a run may ask a store."""

    def run(self, run: "Run") -> dict[str, Any]:
        """Return the result of another run."""
        ...

    def place(self, run: "Run") -> Path:
        """Return another run's directory."""
        ...


class Run(ABC):
    """One thing to compute; subclasses are frozen dataclasses, to be hashed and pickled."""

    kind: ClassVar[str]
    """A word for runs of this class."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Plain values: the same for the same result."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The datasets that it uses; a result on other data of those names does not count."""
        return ()

    @property
    def needs(self) -> Sequence["Run"]:
        """Runs whose files it uses."""
        return ()

    @property
    def usual_seconds(self) -> float:
        """About how long it takes on one core, where no finished one tells."""
        return 60.0

    def check(self) -> None:  # noqa: B027  most have nothing to check
        """Fail now if it could not be computed here."""

    @abstractmethod
    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Return the result as plain values; `place` keeps what a killed one goes on from."""


def name_of(run: Run) -> str:
    """Return the name of a run's directory: the same for the same settings, on any machine."""
    return f"{run.kind}-{identity_of(**plain(run.settings))[:16]}"


def plain(values: Any) -> Any:
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(values))
