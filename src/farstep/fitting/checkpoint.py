"""What a fit keeps on disk while it runs, so that it can be killed at any moment."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from farstep import tensors
from farstep.errors import FarstepError
from farstep.files import explained, publish
from farstep.fitting.curve import Curve
from farstep.fitting.training import TrainingState
from farstep.model import MODEL_FILE


@dataclass(frozen=True)
class Checkpoint:
    """Where one member's training stands after an epoch."""

    state: TrainingState
    best: TrainingState
    curve: Curve
    finished: bool


@dataclass(frozen=True)
class Checkpoints:
    """The files of one fit; without a folder nothing is kept."""

    folder: Path | None
    identity: str
    """Of settings and data: a checkpoint of another fit is refused."""
    replace: bool = False
    """Start over, whatever is there."""
    name: str = "checkpoint"
    """How the files' names begin."""

    def write(self, member: int, checkpoint: Checkpoint) -> None:
        """Replace a member's checkpoint, atomically."""
        if self.folder is None:
            return
        arrays = {
            **tensors.to_arrays(checkpoint.state, "state"),
            **tensors.to_arrays(checkpoint.best, "best"),
        }
        header = {
            "identity": self.identity,
            "curve": checkpoint.curve.to_json(),
            "finished": checkpoint.finished,
        }
        publish(self._path(member), {"": tensors.encode(arrays, header)}, force=True)
        if self.replace:  # from here on this fit goes on when it is killed, without being forced
            (self.folder / MODEL_FILE).unlink(missing_ok=True)

    def read(self, member: int, like: TrainingState) -> Checkpoint | None:
        """Return a member's checkpoint, None if there is none yet.

        With `replace` there never is: what is there, of this member and those after it, is removed.
        """
        if self.folder is None:
            return None
        if self.replace:
            self.remove(member)
        path = self._path(member)
        if not path.exists():
            return None
        arrays, header = tensors.decode(path, "checkpoint")
        self._check_own(header)
        with tensors.understood(path, "checkpoint"):
            return Checkpoint(
                state=tensors.from_arrays(like, arrays, "state"),
                best=tensors.from_arrays(like, arrays, "best"),
                curve=Curve.from_json(header["curve"]),
                finished=bool(header["finished"]),
            )

    def check(self) -> None:
        """Fail if what another fit left would be lost."""
        if self.folder is not None and not self.replace and self._path(0).exists():
            self._check_own(tensors.decode(self._path(0), "checkpoint")[1])

    def _check_own(self, header: dict[str, Any]) -> None:
        if header.get("identity") != self.identity:
            raise FarstepError(
                f"{self.folder} holds an unfinished fit with other settings or data; continue "
                "that one, choose another place, or pass --force (force=True) to start over."
            )

    def remove(self, first: int = 0) -> None:
        """Delete those of a member and of all after it; without one all of them."""
        if self.folder is None:
            return
        with explained(self.folder):
            for path in self.folder.glob(f"{self.name}-*.safetensors"):
                number = path.stem.removeprefix(f"{self.name}-")
                if number.isdecimal() and int(number) >= first:  # others are the user's
                    path.unlink(missing_ok=True)

    def _path(self, member: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.name}-{member}.safetensors"
