"""Running one episode of a real system, and storing episodes one by one."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, SupportsFloat, TypeAlias

import gymnasium
import numpy as np

from farstep.data import npz
from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError, one_line
from farstep.storage.files import publish
from farstep.storage.run_directory import read_json
from farstep.systems.policies import Policy, ResettablePolicy
from farstep.systems.system import System

_NUMBER, _STORED, _EMPTY = "[0-9]" * 6, ".npz", ".empty.json"
EPISODE_FILES = (f"{_NUMBER}{_STORED}", f"{_NUMBER}{_EMPTY}")
"""Patterns of the files of `EpisodeFiles`, for the `outputs` of a `RunDirectory`."""

Watch: TypeAlias = Callable[[np.ndarray, np.ndarray, float, np.ndarray, bool], None]
"""Called after each step with observation, action, reward, next observation and terminated."""


class Recorded(NamedTuple):
    """An episode of a real system, and the errors in it."""

    episode: Episode | None
    """None if not a single step was recorded."""
    trouble: list[str]


@dataclass(frozen=True)
class EpisodeFiles:
    """A directory with one file for each recorded episode, by number."""

    folder: Path
    signals: Signals
    system: str | None = None

    def write(self, number: int, recorded: Recorded) -> None:
        """Store an episode and its errors; without a single step only the errors."""
        trouble = {"trouble": recorded.trouble}
        if recorded.episode is None:
            publish(self._path(number, _EMPTY), {"": json.dumps(trouble).encode()}, force=True)
            return
        content = Episodes.from_list([recorded.episode], self.signals, self.system, trouble)
        publish(self._path(number, _STORED), {"": npz.encode(content)}, force=True)

    def read(self, number: int) -> Recorded | None:
        """Return a stored episode; None if it was not recorded yet."""
        path = self._path(number, _STORED)
        if path.exists():
            stored = read_dataset(path)
            return Recorded(stored[0], _lines(path, stored.metadata))
        path = self._path(number, _EMPTY)
        return Recorded(None, _lines(path, read_json(path) or {})) if path.exists() else None

    def __iter__(self) -> Iterator[Recorded]:
        """Yield the stored episodes, from number 0 to before the first missing one."""
        number = 0
        while (recorded := self.read(number)) is not None:
            yield recorded
            number += 1

    def episodes(self) -> Episodes:
        """Return the stored episodes, from number 0 to before the first missing one."""
        recorded = [one.episode for one in self if one.episode is not None]
        if not recorded:
            raise FarstepError(f"there are no episodes in {self.folder}.")
        return Episodes.from_list(recorded, self.signals, self.system)

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:06}{suffix}"


def _lines(path: Path, stored: Mapping[str, Any]) -> list[str]:
    """Return the stored errors."""
    trouble = stored.get("trouble")
    if not isinstance(trouble, list):
        raise FarstepError(f"{path} is damaged (it has no list of errors); remove it.")
    return [str(line) for line in trouble]


def attempt(system: System, policy: Policy, stream: np.random.SeedSequence, name: str) -> Recorded:
    """Run one episode in a new environment; return what was recorded before the first error.

    A new environment each time: no state can leak from one episode into the next.

    Args:
        system: The system to run.
        policy: Acts in it; it is reset first.
        stream: Seeds the environment and the policy.
        name: The name of the episode in messages.
    """
    env_seed, policy_seed = stream.spawn(2)
    trouble: list[str] = []
    episode, env = None, None
    try:
        env = system.make()
        if isinstance(policy, ResettablePolicy):
            policy.reset(policy_seed)
        seed = int(env_seed.generate_state(1)[0])
        episode = record_episode(
            env, policy, seed, None, lambda line: trouble.append(f"in {name}, {line}")
        )
    except Exception as error:  # of making or resetting it: there is no episode
        trouble.append(f"{name} did not begin: {one_line(error)}")
    try:
        if env is not None:
            env.close()
    except Exception as error:  # the episode is recorded already
        trouble.append(f"after {name}, closing failed: {one_line(error)}")
    return Recorded(episode if episode is not None and len(episode.actions) else None, trouble)


def record_episode(
    env: gymnasium.Env[np.ndarray, np.ndarray],
    policy: Policy,
    seed: int,
    watch: Watch | None,
    trouble: Callable[[str], None],
) -> Episode:
    """Run one episode to its end.

    Args:
        env: The environment, which is reset.
        policy: Acts in it; it is not reset.
        seed: Of the environment's reset.
        watch: Called after every step.
        trouble: Called with the message of a step that raises or returns numbers that are not
            finite; the episode then ends before this step.
    """
    observation, info = env.reset(seed=seed)
    # Copies: an environment may return the very array that it writes to later.
    observations, actions, rewards = [np.array(observation)], [], []
    clean = [np.array(info["clean_observation"])] if "clean_observation" in info else []
    terminated = truncated = False
    while not (terminated or truncated):
        try:
            if not actions:
                _check_usable(observation, observations[0], 0.0, info)
            action = _action(policy, observation, env.action_space)
            observation, reward, terminated, truncated, info = env.step(action.copy())
            _check_usable(observation, observations[0], reward, info)
        except Exception as error:
            kind = "" if isinstance(error, FarstepError) else f"{type(error).__name__}: "
            trouble(f"step {len(actions)} failed: {kind}{one_line(error)}")
            terminated, truncated = False, True
            break
        if watch is not None:
            watch(observations[-1], action, float(reward), np.array(observation), bool(terminated))
        observations.append(np.array(observation))
        if clean:
            clean.append(np.array(info["clean_observation"]))
        actions.append(action)
        rewards.append(reward)
    return Episode(
        observations=np.stack(observations),
        actions=np.reshape(actions, (len(actions), *(env.action_space.shape or ()))),
        rewards=np.asarray(rewards, np.float64),
        terminated=bool(terminated),
        truncated=bool(truncated),
        clean_observations=np.stack(clean) if clean else None,
    )


def _action(policy: Policy, observation: np.ndarray, space: Any) -> np.ndarray:
    """Return the policy's action, within the bounds."""
    predicted = policy.predict(observation)
    action = np.array(predicted[0] if isinstance(predicted, tuple) else predicted, space.dtype)
    if action.shape == space.shape:  # bounds in float64 may lie inside those of float32
        within = np.clip(action, space.low, space.high)
        action = within if np.allclose(within, action, rtol=1e-6, atol=0.0) else action
    if not space.contains(action):
        raise FarstepError(
            f"the policy returned {_listed(action)}; actions must have shape {space.shape} and lie "
            f"between {_listed(space.low)} and {_listed(space.high)}."
        )
    return action


def _listed(values: np.ndarray) -> str:
    """Return numbers on one line, however many they are."""
    return " ".join(np.array2string(values, precision=4, threshold=8, edgeitems=3).split())


def _check_usable(
    observation: np.ndarray, first: np.ndarray, reward: SupportsFloat, info: dict[str, Any]
) -> None:
    """Fail unless a step returned finite numbers of the expected shape."""
    if np.shape(observation) != np.shape(first):
        shapes = f"{np.shape(observation)}, not {np.shape(first)}"
        raise FarstepError(f"the environment returned an observation of shape {shapes}")
    clean = info.get("clean_observation", observation)
    given = {"observation": observation, "clean observation": clean, "reward": reward}
    for name, values in given.items():
        numbers = np.ravel(np.asarray(values, np.float64))
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            which = f" number {wrong[0]}" if len(numbers) > 1 else ""
            raise FarstepError(f"the environment returned {name}{which} = {numbers[wrong[0]]}")
