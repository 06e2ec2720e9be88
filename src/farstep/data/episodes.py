"""Episodes: trajectories, checked on entry and immutable."""

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from farstep.data import checks
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError
from farstep.settings import check_counts

FLOATS = ("observations", "actions", "rewards", "clean_observations")
ARRAYS = (
    *("observations", "actions", "lengths", "rewards"),
    *("terminated", "truncated", "clean_observations"),
)
"""The arrays of `Episodes`, and those of them that hold measurements."""


class Episode(NamedTuple):
    """One trajectory of T steps: T + 1 observations, T actions."""

    observations: Float[np.ndarray, "T+1 d"]
    actions: Float[np.ndarray, "T k"]
    rewards: Float[np.ndarray, " T"] | None = None
    terminated: bool = False
    """The last observation ends the task (a fall, a goal), as in Gymnasium."""
    truncated: bool = False
    """The recording stopped there (a time limit), as in Gymnasium."""
    clean_observations: Float[np.ndarray, "T+1 d"] | None = None
    """The observations without observation noise, where known; only evaluation uses them."""

    @property
    def total_reward(self) -> float:
        """The sum of rewards; NaN where none were recorded."""
        return float("nan") if self.rewards is None else float(np.sum(self.rewards))

    def slice(self, start: int, stop: int) -> "Episode":
        """Return the steps from `start` to before `stop`; truncated unless the last is included."""
        last = stop >= len(self.actions)
        clean = self.clean_observations
        return self._replace(
            observations=self.observations[start : stop + 1],
            actions=self.actions[start:stop],
            rewards=None if self.rewards is None else self.rewards[start:stop],
            terminated=self.terminated and last,
            truncated=self.truncated or not last,
            clean_observations=None if clean is None else clean[start : stop + 1],
        )


class Split(NamedTuple):
    """Three disjoint sets of episodes."""

    train: "Episodes"
    validation: "Episodes"
    test: "Episodes"


@dataclass(frozen=True, eq=False, repr=False)
class Episodes:
    """Trajectories of different lengths, end to end in flat arrays.

    The arrays are read-only; an array that can still be written to is copied. float32 and float64
    keep their precision, and other numbers become float64.
    """

    # Plain types, since anything may be passed; the checks below report mistakes.
    observations: np.ndarray
    """All observations, (rows, d); an episode of T steps has T + 1 rows."""
    actions: np.ndarray
    """All actions, (steps, k); an episode of T steps has T rows."""
    lengths: np.ndarray
    """Steps (T) of each episode."""
    signals: Signals
    """Names, units and bounds of the columns."""
    rewards: np.ndarray | None = None
    """The reward of each step, (steps,), if they were recorded."""
    terminated: np.ndarray = field(default=None)  # pyright: ignore[reportAssignmentType]
    """For each episode, whether its last observation ends the task."""
    truncated: np.ndarray = field(default=None)  # pyright: ignore[reportAssignmentType]
    """For each episode, whether its recording was cut off."""
    clean_observations: np.ndarray | None = None
    """The observations without observation noise, where known; only evaluation uses them."""
    system: str | None = None
    """The system that was recorded: a name, an environment id or `module:attribute`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Further JSON values: the recipe, seed, versions."""

    def __post_init__(self) -> None:
        store = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        store("lengths", _frozen(checks.whole_numbers("lengths", self.lengths)))
        for name in FLOATS:
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
        """Join single trajectories; without `signals` the columns are named s0, s1, …, a0, …."""
        if not episodes:
            raise FarstepError("there are no episodes; give at least one.")
        parts = [_arrays_of(episode) for episode in episodes]
        if any(arrays.keys() != parts[0].keys() for arrays in parts):
            raise FarstepError(
                "some episodes have rewards (or clean observations) and some have none; "
                "give them for all or for none."
            )
        for number, arrays in enumerate(parts):
            checks.check_trajectory(number, arrays, first=parts[0])
        joined = {
            name: _frozen(np.concatenate([arrays[name] for arrays in parts])) for name in parts[0]
        }
        sizes = (joined[name].shape[1] for name in ("observations", "actions"))
        return cls(
            **joined,
            lengths=np.array([len(arrays["actions"]) for arrays in parts]),
            signals=signals or Signals.unnamed(*sizes),
            terminated=np.array([episode.terminated for episode in episodes]),
            truncated=np.array([episode.truncated for episode in episodes]),
            system=system,
            metadata=metadata or {},
        )

    def _check(self) -> None:
        if len(self) == 0:
            raise FarstepError("there are no episodes; give at least one.")
        if self.lengths.min() < 1:
            raise FarstepError(
                f"episode {int(np.argmin(self.lengths))} has no transition; each episode needs at "
                "least two observations."
            )
        rows, steps = self.row_offsets, self.step_offsets
        row_count, step_count, count = int(rows[-1]), int(steps[-1]), len(self)
        shapes = {
            "observations": (row_count, self.signals.num_observations),
            "actions": (step_count, self.signals.num_actions),
            "rewards": (step_count,),
            "terminated": (count,),
            "truncated": (count,),
            "clean_observations": (row_count, self.signals.num_observations),
        }
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                raise FarstepError(
                    f"{name} has shape {value.shape}, but the episodes' lengths and signals need "
                    f"{shape}."
                )
        names = self.signals.observation_names
        checks.check_finite("observations", self.observations, rows, names)
        checks.check_finite("actions", self.actions, steps, self.signals.action_names)
        checks.check_finite("rewards", self.rewards, steps)
        checks.check_finite("clean_observations", self.clean_observations, rows, names)
        checks.check_bounds(self.actions, steps, self.signals)

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        d, k = self.observations.shape[1], self.actions.shape[1]
        source = f", system={self.system!r}" if self.system else ""
        sizes = f"{len(self)} episodes, {self.num_steps} steps, {d} observations, {k} actions"
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
        clean = self.clean_observations
        return Episode(
            observations=self.observations[rows],
            actions=self.actions[steps],
            rewards=None if self.rewards is None else self.rewards[steps],
            terminated=bool(self.terminated[number]),
            truncated=bool(self.truncated[number]),
            clean_observations=None if clean is None else clean[rows],
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
        """Where each episode starts in `observations`."""
        return _frozen(self.step_offsets + np.arange(len(self) + 1))

    @cached_property
    def steps_left(self) -> Int[np.ndarray, " _"]:
        """How many steps of its episode follow each row of `observations`."""
        last = np.repeat(self.row_offsets[1:] - 1, self.lengths + 1)
        return _frozen(last - np.arange(len(last)))

    @property
    def returns(self) -> Float[np.ndarray, " n"] | None:
        """The sum of rewards of each episode; None where no rewards were recorded."""
        if self.rewards is None:
            return None
        return np.add.reduceat(self.rewards.astype(np.float64), self.step_offsets[:-1])

    def transitions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the observations before and after each step, in line with `actions`."""
        before = np.delete(self.observations, self.row_offsets[1:] - 1, axis=0)
        return before, np.delete(self.observations, self.row_offsets[:-1], axis=0)

    def num_windows(self, horizon: int) -> int:
        """Return how many windows of `horizon` steps fit into the episodes."""
        return int(np.maximum(self.lengths - horizon + 1, 0).sum())

    def with_episodes(self, episodes: Sequence[Episode]) -> "Episodes":
        """Return other episodes with the same signals, system and metadata."""
        return Episodes.from_list(episodes, self.signals, self.system, self.metadata)

    def take(self, numbers: ArrayLike) -> "Episodes":
        """Return the episodes with these numbers, in this order."""
        given = np.asarray(numbers).reshape(-1)
        if given.dtype == bool:
            raise FarstepError("take needs numbers, not a mask: use take(np.flatnonzero(mask)).")
        if given.size:  # an empty list has no type; `from_list` reports it
            given = checks.whole_numbers("numbers", given)
        return self.with_episodes([self[int(number)] for number in given])

    def chunked(self, steps: int) -> "Episodes":
        """Cut every episode into episodes of so many steps; the last takes the remainder.

        A log of one long run becomes episodes that can be split. An episode that ends where its
        original did not is truncated.
        """
        check_counts({"steps": 1}, {"steps": steps})
        cut = [
            one.slice(first, min(first + steps, len(one.actions)))
            for one in self
            for first in range(0, len(one.actions), steps)
        ]
        return self.with_episodes(cut)

    def split(
        self, seed: int = 0, validation: float | int = 0.08, test: float | int = 0.2
    ) -> Split:
        """Split at random, without cutting an episode: 36 / 4 / 10 of 50.

        Args:
            seed: The same seed gives the same split.
            validation: A share of the episodes (below 1) or a number of them; at least one.
            test: Likewise, for the test set.
        """
        for name, part in (("validation", validation), ("test", test)):
            if not isinstance(part, (int, float, np.number)):
                raise FarstepError(f"{name} must be a share or a number of episodes, not {part!r}.")
        parts = [max(1, round(p * len(self) if p < 1 else p)) for p in (validation, test)]
        if min(validation, test) <= 0 or sum(parts) >= len(self):
            raise FarstepError(
                f"cannot split {len(self)} episodes into training, validation ({validation:g}) and "
                f"test ({test:g}) sets of at least one episode each; cut long ones with "
                "episodes.chunked(200), or farstep data convert IN OUT --chunk-steps 200."
            )
        check_counts({"seed": 0}, {"seed": seed})
        order = np.random.default_rng(seed).permutation(len(self))
        first, second = parts[0], sum(parts)
        numbers = order[second:], order[:first], order[first:second]
        found = Split(*(self.take(np.sort(one)) for one in numbers))
        checks.warn_of_short_parts({name: part.lengths for name, part in found._asdict().items()})
        return found

    def with_signals(self, signals: Signals, clip_actions: bool = False) -> "Episodes":
        """Return the same data under other names, units and bounds.

        Actions outside the new bounds are an error; with `clip_actions` they are moved to the
        nearest bound, with a `DataWarning`.
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
        for name in ARRAYS:
            value = getattr(self, name)
            digest.update(f"{name}:none".encode())
            if value is not None:
                digest.update(f"{name}:{value.dtype.str}:{value.shape}".encode())
                digest.update(np.ascontiguousarray(value).data)
        return digest.hexdigest()

    @cached_property
    def episode_digests(self) -> tuple[str, ...]:
        """A short hash of each episode's observations and actions, to find it in other data."""
        return tuple(
            hashlib.sha256(
                np.ascontiguousarray(one.observations, np.float32).tobytes()
                + np.ascontiguousarray(one.actions, np.float32).tobytes()
            ).hexdigest()[:12]
            for one in self
        )

    def __reduce__(self) -> tuple[Any, ...]:
        names = [field.name for field in dataclasses.fields(self)]
        values = {name: getattr(self, name) for name in names}
        return partial(Episodes, **{**values, "metadata": dict(self.metadata)}), ()

    def equals(self, other: "Episodes") -> bool:
        """Return whether the data, system and metadata are the same."""
        return (
            self.fingerprint == other.fingerprint
            and self.system == other.system
            and dict(self.metadata) == dict(other.metadata)
        )


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _as_float(value: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise FarstepError(f"{name} must be numbers, not {array.dtype}.")
    if array.dtype not in (np.float32, np.float64):
        return _frozen(array.astype(np.float64))
    return _frozen(array.copy()) if _may_change(array) else array


def _may_change(array: np.ndarray) -> bool:
    """Return whether the array, or one that it is a view of, can still be written to."""
    base = array.base
    return array.flags.writeable or (isinstance(base, np.ndarray) and _may_change(base))


def _arrays_of(episode: Episode) -> dict[str, np.ndarray]:
    """Return what was measured in an episode, as arrays."""
    if not isinstance(episode, Episode):
        raise FarstepError(
            f"each episode must be an Episode(observations=…, actions=…), not a "
            f"{type(episode).__name__}."
        )
    parts = {name: getattr(episode, name) for name in FLOATS}
    return {name: np.asarray(value) for name, value in parts.items() if value is not None}


def check_episodes(given: Any) -> None:
    """Fail unless these are `Episodes`."""
    if not isinstance(given, Episodes):
        raise FarstepError(
            f"the data must be Episodes, not a {type(given).__name__}: load_dataset returns a "
            "shipped set, read_dataset reads a file, Episodes.from_list joins arrays."
        )
