"""Collecting episodes from a real system: the same data whatever the number of workers."""

import hashlib
import multiprocessing
import os
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, SupportsFloat, TypeAlias

import gymnasium
import numpy as np

from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError, one_line
from farstep.fields import check_least, identity_of
from farstep.policy import POLICY_FILE
from farstep.policy import Policy as StoredPolicy
from farstep.processes import WORKERS_DIE, end_with_parent
from farstep.progress import track
from farstep.sources import source_of
from farstep.systems.kept_episodes import KeptEpisodes, Recorded
from farstep.systems.policies import Policy, policy_named
from farstep.systems.registry import code_of, import_module_of, names_code
from farstep.systems.registry import system as system_named
from farstep.systems.system import System

Watch: TypeAlias = Callable[[np.ndarray, np.ndarray, float, np.ndarray, bool], None]
"""Told of each step: state, action, reward, next state, and whether that ends the task."""


def collect(
    system: System | str,
    policy: Policy | str | Path = "random",
    episodes: int = 50,
    seed: int = 0,
    workers: int = 1,
    keep: str | Path | None = None,
) -> Episodes:
    """Run a policy on a real system and return what happened.

    A step that raises, or gives numbers that are not finite, ends the collecting there: what was
    recorded before it is returned, with a warning.

    Args:
        system: A `System`, or its name.
        policy: `random`, a path to a stored policy, a policy, or a function (state, random
            generator) → action.
        episodes: How many episodes to run.
        seed: Each episode draws from its own stream of this seed, so the data do not depend
            on the number of workers.
        workers: Processes to run in; 1 runs in this one.
        keep: A directory in which every finished episode is stored at once: a collection that was
            stopped or killed goes on from there. Remove it when the data are stored. A policy of
            your own is told from another by its source and the values that it uses.
    """
    counts = {"episodes": episodes, "workers": workers, "seed": seed}
    check_least({"episodes": 1, "workers": 1, "seed": 0}, counts)
    if not isinstance(system, System):
        system = system_named(system)
    named = isinstance(policy, (str, Path))
    policy_name = str(policy) if named else getattr(policy, "__name__", "own")
    acting = _acting(policy, system)
    system.make().close()  # so that what is wrong with it is said before any work
    kept = None if keep is None else _kept(Path(keep), system, policy, seed)
    there = [] if kept is None else kept.read()[:episodes]
    numbers = range(len(there), episodes)
    with closing(_run(_Runner(system, acting, seed), numbers, workers)) as ran:
        new = ran if kept is None else kept.storing(ran, len(there), system.signals)
        found = chain((Recorded(episode, []) for episode in there), new)
        recorded, trouble = _until_trouble(track(found, episodes, system.name, "episodes"))
    if trouble:
        said = f"{len(recorded)} of {episodes} episode(s) were recorded, and are kept."
        warnings.warn(f"{trouble}; {said}", DataWarning, stacklevel=2)
    recipe = {
        "env_id": system.env_id,
        "env_options": dict(system.env_options),
        "policy": policy_name,
        "episodes": len(recorded),
        "seed": seed,
        **({"trouble": trouble} if trouble else {}),
    }
    return Episodes.from_list(recorded, system.signals, system.name, {"collected": recipe})


def _kept(folder: Path, system: System, policy: Policy | str | Path, seed: int) -> KeptEpisodes:
    """Return the episodes of this very collection that are there already."""
    options = repr(sorted(system.env_options.items()))
    told = {"system": system.name, "env": system.env_id, "options": options}
    told["steps"] = str(system.episode_steps)
    named = str(policy) if isinstance(policy, str) and not Path(policy).exists() else None
    code = [code_of(name) for name in (system.name, named)]
    return KeptEpisodes(folder, identity_of(**told, policy=_told(policy), code=code, seed=seed))


def _told(policy: Policy | str | Path) -> str:
    """Return what tells one policy from another: its name, its numbers, or its source."""
    if isinstance(policy, (str, Path)):
        stored = Path(policy)
        stored = stored / POLICY_FILE if stored.is_dir() else stored
        found = stored.is_file()
        return hashlib.sha256(stored.read_bytes()).hexdigest() if found else str(policy)
    if isinstance(policy, StoredPolicy):
        return policy.digest
    return source_of(policy)


def _acting(policy: Policy | str | Path, system: System) -> Policy:
    """Return the policy itself, checked."""
    if isinstance(policy, (str, Path)):
        return policy_named(str(policy), system)
    if not callable(policy):
        raise FarstepError(
            f"a {type(policy).__name__} is no policy; give a function (state, random "
            "generator) → action. Of an agent: agent.policy. Of a Stable-Baselines3 model: "
            "lambda state, rng: model.predict(state)[0]."
        )
    if isinstance(policy, StoredPolicy):
        policy.check_fits(system.signals, system.name)
    return policy


def run_episodes(system: System, policy: Policy, episodes: int, seed: int) -> list[Episode]:
    """Run some episodes in this process, without a bar: those that `collect` would record.

    One that fails is an error.
    """
    recorded, trouble = _until_trouble(map(_Runner(system, policy, seed), range(episodes)))
    if trouble:
        raise FarstepError(f"{trouble}.")
    return recorded


def _until_trouble(ran: Iterable[Recorded]) -> tuple[list[Episode], str]:
    """Return the episodes up to the first with trouble, and that; fail if there are none."""
    recorded = []
    for episode, trouble in ran:
        if episode is not None:
            recorded.append(episode)
        if trouble:
            said = trouble[0].rstrip(".")
            if not recorded:
                raise FarstepError(f"{said}.")
            return recorded, said
    return recorded, ""


@dataclass(frozen=True)
class _Runner:
    """Runs the episode with a given number; sent to the workers as it is."""

    system: System
    policy: Policy
    seed: int

    def __call__(self, number: int) -> Recorded:
        if names_code(self.system.name):
            # In a new process: the module may register the environment.
            import_module_of(self.system.name, from_here=True)
        stream = np.random.SeedSequence([self.seed, number])
        return attempt(self.system, self.policy, stream, f"episode {number}")


def attempt(system: System, policy: Policy, stream: np.random.SeedSequence, name: str) -> Recorded:
    """Run one episode, in an environment of its own; whatever fails, what was recorded is kept.

    A new environment each time: nothing can leak from one episode into the next.
    """
    env_seed, policy_seed = stream.spawn(2)
    trouble: list[str] = []
    episode, env = None, None
    try:
        env = system.make()
        episode = record_episode(
            env,
            policy,
            int(env_seed.generate_state(1)[0]),
            np.random.default_rng(policy_seed),
            trouble=lambda said: trouble.append(f"in {name}, {said}"),
        )
    except Exception as error:  # of making or resetting it: there is no episode
        trouble.append(f"{name} did not begin: {one_line(error)}")
    try:
        if env is not None:
            env.close()
    except Exception as error:  # what was recorded counts
        trouble.append(f"after {name}, closing failed: {one_line(error)}")
    return Recorded(episode if episode is not None and len(episode.actions) else None, trouble)


class BadActionError(FarstepError):
    """A policy returned what the system cannot take."""


def record_episode(
    env: "gymnasium.Env[np.ndarray, np.ndarray]",
    policy: Policy,
    seed: int,
    rng: np.random.Generator,
    watch: Watch | None = None,
    trouble: Callable[[str], None] | None = None,
) -> Episode:
    """Run one episode to its end and return it; `watch` is told of every step.

    With `trouble`, a step that raises or gives numbers that are not finite ends the episode there,
    what came before it is returned, and `trouble` is told.
    """
    space = env.action_space
    assert isinstance(space, gymnasium.spaces.Box)
    state, info = env.reset(seed=seed)
    # Copies: an environment may hand out the very array that it goes on writing to.
    states, actions, rewards = [np.array(state)], [], []
    clean = [np.array(info["clean_state"])] if "clean_state" in info else []
    terminated = truncated = False
    while not (terminated or truncated):
        try:
            if trouble is not None and not actions:
                _check_usable(state, states[0], 0.0, info)
            action = np.array(policy(state, rng), space.dtype)
            action = _checked(action, space, len(actions))
            state, reward, terminated, truncated, info = env.step(action.copy())
            if trouble is not None:
                _check_usable(state, states[0], reward, info)
        except Exception as error:
            if trouble is None:
                raise
            bad = isinstance(error, BadActionError)
            what = f"{type(error).__name__}: {one_line(error)}"
            trouble(str(error) if bad else f"step {len(actions)} failed: {what}")
            terminated, truncated = False, True
            break
        if watch is not None:
            watch(states[-1], action, float(reward), np.array(state), bool(terminated))
        states.append(np.array(state))
        if clean:
            clean.append(np.array(info["clean_state"]))
        actions.append(action)
        rewards.append(reward)
    return Episode(
        states=np.stack(states),
        actions=np.reshape(actions, (len(actions), *space.shape)),
        rewards=np.asarray(rewards, np.float64),
        terminated=bool(terminated),
        truncated=bool(truncated),
        clean_states=np.stack(clean) if clean else None,
    )


def _checked(action: np.ndarray, space: gymnasium.spaces.Box, number: int) -> np.ndarray:
    if action.shape == space.shape:  # bounds in float64 may lie inside those of float32
        within = np.clip(action, space.low, space.high)
        action = within if np.allclose(within, action, rtol=1e-6, atol=0.0) else action
    if not space.contains(action):
        raise BadActionError(
            f"step {number} the policy returned {_listed(action)}; actions must have shape "
            f"{space.shape} and lie between {_listed(space.low)} and {_listed(space.high)}."
        )
    return action


def _listed(values: np.ndarray) -> str:
    """Return numbers on one line, however many they are."""
    return " ".join(np.array2string(values, precision=4, threshold=8, edgeitems=3).split())


def _check_usable(
    state: np.ndarray, first: np.ndarray, reward: SupportsFloat, info: dict[str, Any]
) -> None:
    """Fail if a step gave what cannot be kept."""
    if np.shape(state) != np.shape(first):
        raise ValueError(f"it gave a state of shape {np.shape(state)}, not {np.shape(first)}")
    given = {"state": state, "clean state": info.get("clean_state", state), "reward": reward}
    for name, values in given.items():
        numbers = np.ravel(np.asarray(values, np.float64))
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            which = f" number {wrong[0]}" if len(numbers) > 1 else ""
            raise ArithmeticError(f"it gave {name}{which} = {numbers[wrong[0]]}")


def _run(runner: _Runner, numbers: range, workers: int) -> Generator[Recorded, None, None]:
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
