"""Episodes: the one container of trajectories, checked on entry and immutable."""

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from farstep import checks
from farstep.errors import DataWarning, FarstepError
from farstep.fields import check_least
from farstep.signals import Signals


class Episode(NamedTuple):
    """One trajectory of T steps: T + 1 states, T actions."""

    states: Float[np.ndarray, "T+1 d"]
    actions: Float[np.ndarray, "T k"]
    rewards: Float[np.ndarray, " T"] | None = None
    terminated: bool = False
    """The last state ends the task (a fall, a goal), as in Gymnasium."""
    truncated: bool = False
    """The recording stopped there (a time limit), as in Gymnasium."""
    clean_states: Float[np.ndarray, "T+1 d"] | None = None
    """The states without observation noise, where a simulator knows them. For scoring only."""

    @property
    def total(self) -> float:
        """The sum of rewards; NaN where none were recorded."""
        return float("nan") if self.rewards is None else float(np.sum(self.rewards))

    def part(self, start: int, stop: int) -> "Episode":
        """Return the steps from `start` to before `stop`; before the end its recording is cut."""
        last = stop >= len(self.actions)
        clean = self.clean_states
        return self._replace(
            states=self.states[start : stop + 1],
            actions=self.actions[start:stop],
            rewards=None if self.rewards is None else self.rewards[start:stop],
            terminated=self.terminated and last,
            truncated=self.truncated or not last,
            clean_states=None if clean is None else clean[start : stop + 1],
        )


class Split(NamedTuple):
    """Three disjoint sets of whole episodes."""

    train: "Episodes"
    validation: "Episodes"
    test: "Episodes"


@dataclass(frozen=True, eq=False, repr=False)
class Episodes:
    """Trajectories of different lengths, end to end in flat arrays.

    An array that can still be written to is copied; those inside cannot be. Floating-point
    data keep their precision (float32 or float64); other numbers become float64.
    """

    # Plain types: this is where anything comes in, and the checks below say what is wrong with it.
    states: np.ndarray
    """All states, (rows, d); an episode of T steps has T + 1 rows."""
    actions: np.ndarray
    """All actions, (steps, k); an episode of T steps has T rows."""
    lengths: np.ndarray
    """Steps (T) of each episode."""
    signals: Signals
    """Names, units and bounds of the columns."""
    rewards: np.ndarray | None = None
    """The reward of each step, (steps,), if they were recorded."""
    terminated: np.ndarray = field(default=None)  # pyright: ignore[reportAssignmentType]
    """For each episode, whether its last state ends the task."""
    truncated: np.ndarray = field(default=None)  # pyright: ignore[reportAssignmentType]
    """For each episode, whether its recording was cut off."""
    clean_states: np.ndarray | None = None
    """The states without observation noise, where known. For scoring only."""
    system: str | None = None
    """The system that the data come from: a name, an environment id or `module:attribute`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth keeping, as JSON: the recipe, seed, versions."""

    def __post_init__(self) -> None:
        store = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        store("lengths", _frozen(checks.whole_numbers("lengths", self.lengths)))
        for name in ("states", "actions", "rewards", "clean_states"):
            value = getattr(self, name)
            store(name, None if value is None else _as_float(value, name))
        for name in ("terminated", "truncated"):
            value = getattr(self, name)
            flags = np.zeros(len(self.lengths), bool) if value is None else np.array(value, bool)
            store(name, _frozen(flags))
        try:
            copied = json.loads(json.dumps(dict(self.metadata)))
            store("metadata", MappingProxyType(copied))
        except (TypeError, ValueError) as error:
            raise FarstepError(f"metadata must be plain JSON values: {error}.") from error
        self._check()

    @classmethod
    def from_list(
        cls,
        episodes: Sequence[Episode],
        signals: Signals | None = None,
        system: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> "Episodes":
        """Join single trajectories; without `signals` the columns get plain names."""
        if not episodes:
            raise FarstepError("there are no episodes; give at least one.")
        episodes = [_as_arrays(episode) for episode in episodes]
        with_rewards = {episode.rewards is not None for episode in episodes}
        with_clean = {episode.clean_states is not None for episode in episodes}
        if len(with_rewards) > 1 or len(with_clean) > 1:
            raise FarstepError(
                "some episodes have rewards (or clean states) and some have none; "
                "give them for all or for none."
            )
        for number, episode in enumerate(episodes):
            clean = episode.clean_states
            checks.check_trajectory(number, *episode[:3], clean, like=episodes[0][:2])
        states = np.concatenate([episode.states for episode in episodes])
        actions = np.concatenate([episode.actions for episode in episodes])
        return cls(
            states=_frozen(states),
            actions=_frozen(actions),
            lengths=np.array([len(episode.actions) for episode in episodes]),
            signals=signals or Signals.unnamed(states.shape[1], actions.shape[1]),
            rewards=_joined([episode.rewards for episode in episodes]),
            terminated=np.array([episode.terminated for episode in episodes]),
            truncated=np.array([episode.truncated for episode in episodes]),
            clean_states=_joined([episode.clean_states for episode in episodes]),
            system=system,
            metadata=metadata or {},
        )

    def _check(self) -> None:
        checks.check_lengths(self.lengths)
        rows, steps = self.row_offsets, self.step_offsets
        row_count, step_count, count = int(rows[-1]), int(steps[-1]), len(self)
        for name, shape in {
            "states": (row_count, self.signals.num_states),
            "actions": (step_count, self.signals.num_actions),
            "rewards": (step_count,),
            "terminated": (count,),
            "truncated": (count,),
            "clean_states": (row_count, self.signals.num_states),
        }.items():
            checks.check_shape(name, getattr(self, name), shape)
        checks.check_finite("states", self.states, rows, self.signals.state_names)
        checks.check_finite("actions", self.actions, steps, self.signals.action_names)
        checks.check_finite("rewards", self.rewards, steps)
        checks.check_finite("clean_states", self.clean_states, rows, self.signals.state_names)
        checks.check_bounds(self.actions, steps, self.signals)

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        d, k = self.states.shape[1], self.actions.shape[1]
        source = f", system={self.system!r}" if self.system else ""
        sizes = f"{len(self)} episodes, {self.num_steps} steps, {d} states, {k} actions"
        return f"Episodes({sizes}{source})"

    def __iter__(self) -> Iterator[Episode]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Episode:
        """Return one episode, as views of the flat arrays."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"episode {number} of {len(self)}")
        number %= len(self)
        rows = slice(self.row_offsets[number], self.row_offsets[number + 1])
        steps = slice(self.step_offsets[number], self.step_offsets[number + 1])
        return Episode(
            states=self.states[rows],
            actions=self.actions[steps],
            rewards=None if self.rewards is None else self.rewards[steps],
            terminated=bool(self.terminated[number]),
            truncated=bool(self.truncated[number]),
            clean_states=None if self.clean_states is None else self.clean_states[rows],
        )

    @property
    def num_steps(self) -> int:
        """Transitions in all episodes together."""
        return len(self.actions)

    @cached_property
    def step_offsets(self) -> Int[np.ndarray, " _"]:
        """Where each episode starts in `actions` and `rewards`."""
        return _frozen(np.concatenate([[0], np.cumsum(self.lengths)]))

    @cached_property
    def row_offsets(self) -> Int[np.ndarray, " _"]:
        """Where each episode starts in `states`."""
        return _frozen(self.step_offsets + np.arange(len(self) + 1))

    @cached_property
    def steps_left(self) -> Int[np.ndarray, " _"]:
        """How many steps of its episode follow each row of `states`."""
        last = np.repeat(self.row_offsets[1:] - 1, self.lengths + 1)
        return _frozen(last - np.arange(len(last)))

    @property
    def returns(self) -> Float[np.ndarray, " n"] | None:
        """The sum of rewards of each episode; None where no rewards were recorded."""
        if self.rewards is None:
            return None
        return np.add.reduceat(self.rewards.astype(np.float64), self.step_offsets[:-1])

    def transitions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the states before and after each step, beside `actions` and `rewards`."""
        before = np.delete(self.states, self.row_offsets[1:] - 1, axis=0)
        return before, np.delete(self.states, self.row_offsets[:-1], axis=0)

    def num_windows(self, horizon: int) -> int:
        """How many windows of `horizon` steps fit into the episodes."""
        return int(np.maximum(self.lengths - horizon + 1, 0).sum())

    def take(self, numbers: ArrayLike) -> "Episodes":
        """Return the episodes with these numbers, in this order."""
        given = np.asarray(numbers).reshape(-1)
        if given.dtype == bool:
            raise FarstepError("take goes by numbers; of a mask: take(np.flatnonzero(mask)).")
        if given.size:  # an empty list has no type, and `from_list` says what is wrong with it
            given = checks.whole_numbers("numbers", given)
        chosen = [self[int(number)] for number in given]
        return Episodes.from_list(chosen, self.signals, self.system, self.metadata)

    def pieces(self, steps: int) -> "Episodes":
        """Cut every episode into pieces of so many steps, the last with what is left.

        A log of one long run becomes episodes that can be split. Where a piece ends that the
        episode did not end with, its recording is cut off (`truncated`).
        """
        check_least({"steps of a piece": 1}, {"steps of a piece": steps})
        cut = [
            one.part(first, min(first + steps, len(one.actions)))
            for one in self
            for first in range(0, len(one.actions), steps)
        ]
        return Episodes.from_list(cut, self.signals, self.system, self.metadata)

    def split(
        self, seed: int = 0, validation: float | int = 0.08, test: float | int = 0.2
    ) -> Split:
        """Split by whole episodes, at random: 36 / 4 / 10 of 50.

        Args:
            seed: The same seed gives the same split.
            validation: A share of the episodes (below 1) or a number of them; at least one.
            test: The same, for the test set.
        """
        for name, part in (("validation", validation), ("test", test)):
            if not isinstance(part, (int, float, np.number)):
                raise FarstepError(f"{name} must be a share or a number of episodes, not {part!r}.")
        parts = [max(1, round(p * len(self) if p < 1 else p)) for p in (validation, test)]
        if min(validation, test) <= 0 or sum(parts) >= len(self):
            raise FarstepError(
                f"cannot split {len(self)} episodes into parts for training, validation "
                f"({validation:g}) and test ({test:g}); each needs at least one whole episode. Cut "
                "long ones: episodes.pieces(200), or farstep data convert IN OUT --pieces 200."
            )
        check_least({"seed": 0}, {"seed": seed}, below=None)
        order = np.random.default_rng(seed).permutation(len(self))
        cuts = np.sort(order[sum(parts) :]), np.sort(order[: parts[0]])
        return Split(
            train=self.take(cuts[0]),
            validation=self.take(cuts[1]),
            test=self.take(np.sort(order[parts[0] : sum(parts)])),
        )

    def with_signals(self, signals: Signals, clip_actions: bool = False) -> "Episodes":
        """Return the same data under other names, units and bounds.

        Actions beyond the new bounds are an error, or are moved to the nearest bound with a
        `DataWarning` if `clip_actions`.
        """
        actions, outside = self.actions, 0
        if clip_actions and signals.num_actions == actions.shape[1]:
            outside = int(signals.outside_bounds(actions).sum())
            actions = signals.clip(actions)
        if outside:
            warnings.warn(
                f"{outside} of {actions.size} actions were clipped to their bounds.",
                DataWarning,
                stacklevel=2,
            )
        return dataclasses.replace(self, signals=signals, actions=actions)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the numbers, flags and signals: equal for equal data in any file format."""
        digest = hashlib.sha256(json.dumps(self.signals.to_json(), sort_keys=True).encode())
        for name in ("states", "actions", "lengths", "rewards", *_FLAGS, "clean_states"):
            value = getattr(self, name)
            digest.update(f"{name}:none".encode())
            if value is not None:
                digest.update(f"{name}:{value.dtype.str}:{value.shape}".encode())
                digest.update(np.ascontiguousarray(value).data)
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        names = [field.name for field in dataclasses.fields(self)]
        values = {name: getattr(self, name) for name in names}
        return _rebuilt, ({**values, "metadata": dict(self.metadata)},)

    def equals(self, other: "Episodes") -> bool:
        """Whether the other holds the same data, system and metadata."""
        return (
            self.fingerprint == other.fingerprint
            and self.system == other.system
            and dict(self.metadata) == dict(other.metadata)
        )


_FLAGS = ("terminated", "truncated")


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _joined(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    return None if parts[0] is None else _frozen(np.concatenate(parts))  # type: ignore[arg-type]


def _as_float(value: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise FarstepError(f"{name} must be numbers, not {array.dtype}.")
    if array.dtype not in (np.float32, np.float64):
        return _frozen(array.astype(np.float64))
    return _frozen(array.copy()) if _may_change(array) else array


def _may_change(array: np.ndarray) -> bool:
    """Whether someone can still write to the array, or to one that it is a view of."""
    base = array.base
    return array.flags.writeable or (isinstance(base, np.ndarray) and _may_change(base))


def _as_arrays(episode: Episode) -> Episode:
    """Return the episode with arrays where it has lists."""
    if not isinstance(episode, Episode):
        raise FarstepError(f"a {type(episode).__name__} is no Episode(states=…, actions=…).")
    parts = {
        name: getattr(episode, name) for name in ("states", "actions", "rewards", "clean_states")
    }
    arrays = {name: np.asarray(value) for name, value in parts.items() if value is not None}
    return episode._replace(**arrays)


def _rebuilt(values: dict[str, Any]) -> Episodes:
    return Episodes(**values)


def check_episodes(given: Any) -> None:
    """Fail with a word on what to do if these are no episodes."""
    if not isinstance(given, Episodes):
        raise FarstepError(
            f"a {type(given).__name__} is no Episodes; farstep.load gives a shipped set, "
            "farstep.read a file's, Episodes.from_list those of arrays."
        )
