"""Collecting episodes from a real system: the same data for any number of workers."""

import multiprocessing
import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from farstep.data.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.runtime.processes import WORKERS_DIE, end_with_parent
from farstep.runtime.progress import track
from farstep.settings import check_counts
from farstep.storage.fingerprint import plain
from farstep.storage.run_directory import RunDirectory
from farstep.systems.policies import Policy, as_policy, policy_fingerprint
from farstep.systems.recording import EPISODE_FILES, EpisodeFiles, Recorded, attempt
from farstep.systems.registry import get_system, import_module_of, names_code
from farstep.systems.system import System


def collect(
    system: System | str,
    policy: Any = "random",
    episodes: int = 50,
    seed: int = 0,
    workers: int = 1,
    out: str | Path | None = None,
    force: bool = False,
) -> Episodes:
    """Run a policy on a real system and return the recorded episodes.

    A step that raises, or returns numbers that are not finite, ends the collection. The episodes
    before it are returned, with a warning.

    Args:
        system: A `System`, or its name.
        policy: `random`, the path of a stored policy, a policy, or a function from an observation
            to an action.
        episodes: How many episodes to run.
        seed: Each episode has its own random stream of this seed, so the data do not depend on the
            number of workers.
        workers: Processes to run in; 1 runs in this one.
        out: A directory in which each finished episode is stored at once. A killed collection
            continues there, and a finished one can be extended by asking for more episodes.
        force: Start over, and remove the episodes that `out` holds.
    """
    counts = {"episodes": episodes, "workers": workers, "seed": seed}
    check_counts({"episodes": 1, "workers": 1, "seed": 0}, counts)
    if not isinstance(system, System):
        system = get_system(system)
    runner = partial(_run_one, system, as_policy(policy, system), seed)
    system.make().close()  # so that a mistake in it is reported before any work
    with _directory(system, policy, seed, out, force).open() as run:
        stored = None if run.path is None else EpisodeFiles(run.path, system.signals, system.name)
        run.save_config()
        earlier = [] if stored is None else list(islice(stored, episodes))
        with closing(_run(runner, range(len(earlier), episodes), workers)) as running:
            shown = track(chain(earlier, running), episodes, system.name, "episodes")
            recorded, trouble = _until_trouble(shown, stored, len(earlier))
        if not trouble and len(recorded) > (run.result() or {"episodes": 0})["episodes"]:
            run.finish({"episodes": len(recorded)})
    if trouble:
        kept = f"{len(recorded)} of {episodes} episode(s) were recorded"
        warnings.warn(f"{trouble}; {kept}.", DataWarning, stacklevel=2)
    named = isinstance(policy, (str, Path))
    recipe = {
        "env_id": system.env_id,
        "env_kwargs": plain(system.env_kwargs),
        "policy": str(policy) if named else getattr(policy, "__name__", "own"),
        "episodes": len(recorded),
        "seed": seed,
        **({"trouble": trouble} if trouble else {}),
    }
    return Episodes.from_list(recorded, system.signals, system.name, {"collected": recipe})


def run_episodes(system: System, policy: Policy, episodes: int, seed: int) -> list[Episode]:
    """Run episodes in this process, without a progress bar; they equal those of `collect`.

    An error in one of them is raised.
    """
    runner = partial(_run_one, system, policy, seed)
    recorded, trouble = _until_trouble(map(runner, range(episodes)))
    if trouble:
        raise FarstepError(f"{trouble}.")
    return recorded


def _directory(
    system: System, policy: Any, seed: int, out: str | Path | None, force: bool
) -> RunDirectory:
    config = {
        "system": system.name,
        "env_id": system.env_id,
        "env_kwargs": dict(system.env_kwargs),
        "max_episode_steps": system.max_episode_steps,
        "policy": policy_fingerprint(policy),
        "seed": seed,
    }
    return RunDirectory(out, "collect", config, outputs=EPISODE_FILES, force=force)


def _until_trouble(
    running: Iterable[Recorded], files: EpisodeFiles | None = None, first: int = 0
) -> tuple[list[Episode], str]:
    """Return the episodes up to the first error, and the error; fail if there are none.

    With `files`, each episode from number `first` on is stored at once, unless it has an error:
    that one is run again.
    """
    episodes = []
    for number, recorded in enumerate(running):
        if files is not None and number >= first and not recorded.trouble:
            files.write(number, recorded)
        if recorded.episode is not None:
            episodes.append(recorded.episode)
        if recorded.trouble:
            trouble = recorded.trouble[0].rstrip(".")
            if not episodes:
                raise FarstepError(f"{trouble}.")
            return episodes, trouble
    return episodes, ""


def _run_one(system: System, policy: Policy, seed: int, number: int) -> Recorded:
    """Run the episode of a given number, perhaps in a worker, which gets a copy of the policy."""
    if names_code(system.name):
        # In a new process: the module may register the environment.
        import_module_of(system.name, from_here=True)
    stream = np.random.SeedSequence([seed, number])
    return attempt(system, policy, stream, f"episode {number}")


def _run(
    runner: Callable[[int], Recorded], numbers: range, workers: int
) -> Generator[Recorded, None, None]:
    if workers == 1 or not numbers:
        yield from map(runner, numbers)
        return
    try:
        pickle.dumps(runner)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise FarstepError(
            f"the system or policy cannot be sent to other processes ({error}); define its "
            "functions at the top level of a module, or use one worker."
        ) from error
    # Processes are spawned: forking a process that runs JAX's threads can deadlock.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(numbers)),
        mp_context=context,
        initializer=end_with_parent,
        initargs=(os.getpid(),),
    ) as pool:
        try:
            yield from pool.map(runner, numbers)
        except BrokenProcessPool:
            yield Recorded(None, [f"a worker process died. {WORKERS_DIE}"])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
