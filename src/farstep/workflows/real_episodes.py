"""The real episodes of `iterate`: each is run once, and stored before anything else happens."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.storage.run_directory import RunDirectory
from farstep.systems.policies import Policy, random_policy
from farstep.systems.recording import EpisodeFiles, Recorded, attempt
from farstep.systems.system import System

_STREAM = 1
"""Of a seed's random numbers: other episodes than those of `collect` with the same seed."""


@dataclass(frozen=True)
class RealEpisodes:
    """The real episodes of one seed by number; each is run once and stored at once."""

    folder: Path
    system: System
    seed: int

    @property
    def files(self) -> EpisodeFiles:
        """Their files."""
        return EpisodeFiles(self.folder, self.system.signals, self.system.name)

    @property
    def trouble_of_first(self) -> list[str]:
        """Errors in the first episode."""
        recorded = self.files.read(0)
        return [] if recorded is None else recorded.trouble

    def first(self, run: RunDirectory, least: int) -> None:
        """Run the random episode unless it is stored; refuse one that is too short to learn from.

        A refused episode leaves the run's directory empty, for a call with other settings.
        """
        if self.files.read(0) is not None:
            return
        episode, trouble = recorded = self._run(0, random_policy(self.system))
        if episode is None:
            raise FarstepError(
                f"the first real episode recorded nothing: {trouble[-1]}. Repair the system, and "
                "start again."
            )
        if (steps := len(episode.actions)) < least:
            reason = f"{trouble[0].rstrip('.')}: " if trouble else ""
            raise FarstepError(
                f"{reason}the first real episode has {steps} step(s), but fitting and validating a "
                f"model needs {least}; choose a shorter horizon or weights='auto', or a system "
                "with longer random episodes."
            )
        run.save_config()
        self.files.write(0, recorded)

    def up_to(self, number: int) -> Episodes:
        """Return the episodes from 0 to a number, without those that recorded nothing."""
        episodes = []
        for one in range(number + 1):
            recorded = self.files.read(one)
            if recorded is None:
                raise FarstepError(f"real episode {one} is missing in {self.folder}.")
            if recorded.episode is not None:
                episodes.append(recorded.episode)
        return Episodes.from_list(episodes, self.system.signals, self.system.name)

    def get(self, number: int, policy: Policy) -> Recorded:
        """Return an episode; run and store it first unless it is stored."""
        recorded = self.files.read(number)
        if recorded is None:
            recorded = self._run(number, policy)
            self.files.write(number, recorded)
        return recorded

    def _run(self, number: int, policy: Policy) -> Recorded:
        stream = np.random.SeedSequence([self.seed, number, _STREAM])
        return attempt(self.system, policy, stream, f"real episode {number}")


def read_episodes(folder: Path) -> Episodes:
    """Return all real episodes in a seed's `episodes` directory, in order."""
    first = read_dataset(folder / "000000.npz")
    return EpisodeFiles(folder, first.signals, first.system).episodes()
