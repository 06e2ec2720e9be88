"""Seeds of a workflow: run on workers, with their warnings kept as notes of the result."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from farstep.errors import DataWarning
from farstep.model_env.config import ModelEnvConfig
from farstep.storage.run_directory import RunDirectory
from farstep.systems.system import System
from farstep.workflows.presets import learns_reward
from farstep.workflows.worker_pool import run_all

RUN_FILES = ("config.json", "result.json", "*.safetensors")
"""Files of the runs inside a seed's directory, which are removed when the seed starts over."""


@runtime_checkable
class Seed(Protocol):
    """One seed of a workflow: a frozen dataclass, so that it can be sent to a worker."""

    def directory(self, folder: Path, force: bool = False) -> RunDirectory:
        """Return its directory in `folder`."""
        ...

    def run(self, folder: Path) -> Any:
        """Return its result; stages that are finished in `folder` are not computed again."""
        ...


def run_seeds(seeds: Sequence[Seed], folder: Path, workers: int, force: bool = False) -> list[Any]:
    """Return the result of each seed, from processes of one thread each; 1 uses this process.

    With `force` all start over. That happens here, once: a worker that is killed is started again,
    and must find what it had finished.
    """
    for seed in seeds if force else ():
        with seed.directory(folder, force=True).open() as run:
            run.save_config()
    if workers == 1:
        return [seed.run(folder) for seed in seeds]
    found = run_all(seeds, partial(_run, folder), min(workers, len(seeds)))
    return [found[seed] for seed in seeds]


def _run(folder: Path, seed: Seed) -> Any:
    return seed.run(folder)


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect Farstep's warnings into the list that is returned; show those of others."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield notes
    for one in caught:
        if issubclass(one.category, DataWarning):
            notes.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def reward_notes(config: ModelEnvConfig, system: System) -> list[str]:
    """Return a note if the reward was learned without being asked for."""
    if learns_reward(config, system) and config.reward is None:
        return [f"the reward of system '{system.name}' is not known; it was learned."]
    return []
