"""The real episodes of a loop: each is run once, and kept before anything else happens."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from farstep.datasets import npz
from farstep.datasets.reading import read
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError, one_line
from farstep.files import publish
from farstep.policy import Policy
from farstep.systems.collect import attempt
from farstep.systems.kept_episodes import Recorded
from farstep.systems.policies import policy_named
from farstep.systems.system import System

_STREAM = 1
"""Apart from the streams of `collect` with the same seed."""
Acting = Policy | Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class RealEpisodes:
    """The episodes of one seed, in a folder, by number; number 0 is random."""

    folder: Path
    system: System
    seed: int
    least: int = 2
    """Steps of the first episode, at least: what models can be fitted and validated on."""

    def first(self) -> Recorded:
        """Run or read the random episode that everything starts from."""
        found = self.get(0, policy_named("random", self.system))
        if found.episode is None:
            raise FarstepError(
                f"the first real episode recorded nothing: {found.trouble[-1]}. Mend the system, "
                "and start again."
            )
        return found

    def _check_first(self, episode: Episode, trouble: list[str]) -> None:
        """Fail before a first episode is kept that nothing can be learned from."""
        steps = len(episode.actions)
        if steps < self.least:
            because = f"{trouble[0].rstrip('.')}: " if trouble else ""
            raise FarstepError(
                f"{because}the first real episode has {steps} step(s); to fit and validate a model "
                f"it must have {self.least}. Choose a shorter horizon or weights=auto, or a system "
                "whose random episodes are longer."
            )

    def before(self, count: int) -> list[Episode]:
        """Return the first `count` episodes, without those that recorded nothing."""
        later = [self._read(number).episode for number in range(1, count)]
        return [episode for episode in (self.first().episode, *later) if episode is not None]

    def get(self, number: int, policy: Acting) -> Recorded:
        """Run and keep an episode, or read it if it was run already."""
        if self._path(number).exists() or self._nothing(number).exists():
            return self._read(number)
        stream = np.random.SeedSequence([self.seed, number, _STREAM])
        found = attempt(self.system, policy, stream, f"real episode {number}")  # pyright: ignore[reportArgumentType]
        if found.episode is not None:
            if number == 0:
                self._check_first(found.episode, found.trouble)
            content = Episodes.from_list(
                [found.episode],
                self.system.signals,
                self.system.name,
                {"trouble": found.trouble},
            )
            publish(self._path(number), {"": npz.encode(content)})
        elif number > 0:  # the first can be tried again: nothing is lost
            publish(self._nothing(number), {"": json.dumps(found.trouble).encode()})
        return found

    def _read(self, number: int) -> Recorded:
        if self._nothing(number).exists():
            return Recorded(None, self._trouble(self._nothing(number)))
        found = read(self._path(number))
        return Recorded(found[0], [*found.metadata.get("trouble", [])])

    @staticmethod
    def _trouble(path: Path) -> list[str]:
        try:
            return [str(line) for line in json.loads(path.read_text())]
        except (OSError, ValueError, TypeError) as error:
            raise FarstepError(f"{path} is damaged ({one_line(error)}); remove it.") from error

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:03}.npz"

    def _nothing(self, number: int) -> Path:
        return self.folder / f"{number:03}.nothing.json"


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else -1


def all_of(folder: Path) -> Episodes:
    """Return every episode in a folder, in order."""
    parts = [read(path) for path in sorted(folder.glob("*.npz"), key=_number)]
    if not parts:
        raise FarstepError(f"there are no episodes in {folder}.")
    episodes: list[Any] = [episode for one in parts for episode in one]
    return Episodes.from_list(episodes, parts[0].signals, parts[0].system)
