"""Episodes of a collection under way: each is on disk before the next is run."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from farstep.datasets import npz
from farstep.datasets.reading import read
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.files import explained, publish
from farstep.signals import Signals


class Recorded(NamedTuple):
    """One real episode, and what went wrong in it."""

    episode: Episode | None
    """None if not a single step was recorded."""
    trouble: list[str]


@dataclass(frozen=True)
class KeptEpisodes:
    """A directory of files of one episode each, by number."""

    folder: Path
    identity: str
    """Of system, policy and seed: episodes of another collection are refused."""

    def read(self) -> list[Episode]:
        """Return those that are there, from the first up to where one is missing."""
        found: list[Episode] = []
        while (path := self._path(len(found))).exists():
            data = read(path)
            if data.metadata.get("collecting") != self.identity:
                raise FarstepError(
                    f"{self.folder} holds episodes that were collected with other settings; "
                    "finish that collection, remove the directory, or choose another output."
                )
            found.append(data[0])
        return found

    def storing(self, ran: Iterable[Recorded], first: int, signals: Signals) -> Iterator[Recorded]:
        """Yield what was recorded, each after it was stored if nothing is wrong with it."""
        for number, found in enumerate(ran, first):
            if found.episode is not None and not found.trouble:
                metadata = {"collecting": self.identity}
                data = Episodes.from_list([found.episode], signals, None, metadata)
                publish(self._path(number), {"": npz.encode(data)}, force=True)
            yield found

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06}.npz"


def remove_kept(folder: Path) -> None:
    """Remove episodes that are stored elsewhere now; what else is in the directory stays."""
    if not folder.is_dir():
        return
    with explained(folder):
        for path in folder.glob("[0-9][0-9][0-9][0-9][0-9][0-9].npz"):
            path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
