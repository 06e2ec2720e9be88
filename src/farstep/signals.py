"""Signals: what the columns of states and actions are called and where actions may go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from farstep.errors import FarstepError, one_line
from farstep.json_numbers import json_numbers


@dataclass(frozen=True)
class Signals:
    """Names, units and bounds of the columns of a system's states and actions."""

    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    state_units: tuple[str, ...] = ()
    """One for each state, "" where there is none or it is unknown."""
    action_units: tuple[str, ...] = ()
    action_low: tuple[float, ...] = ()
    """Lower bound of each action; minus infinity where unknown."""
    action_high: tuple[float, ...] = ()
    interval: float | None = None
    """Seconds from one state to the next; None if unknown."""

    def __post_init__(self) -> None:
        defaults = {
            "state_names": ((), str, self.num_states),
            "action_names": ((), str, self.num_actions),
            "state_units": ("", str, self.num_states),
            "action_units": ("", str, self.num_actions),
            "action_low": (-np.inf, float, self.num_actions),
            "action_high": (np.inf, float, self.num_actions),
        }
        for name, (default, kind, count) in defaults.items():
            if isinstance(getattr(self, name), str):
                given = getattr(self, name)
                raise FarstepError(f"{name} must be a tuple, such as ('{given}',), not a text.")
            try:
                values = tuple(kind(value) for value in getattr(self, name)) or (default,) * count
            except (TypeError, ValueError) as error:
                what = "numbers" if kind is float else "texts"
                raise FarstepError(
                    f"{name} must be a tuple of {what}: {one_line(error)}."
                ) from error
            if len(values) != count:
                raise FarstepError(f"{name} has {len(values)} entries, but {count} are needed.")
            object.__setattr__(self, name, values)
        if self.interval is not None:
            if not isinstance(self.interval, (int, float, np.number)):
                raise FarstepError(f"the interval must be seconds, not {self.interval!r}.")
            object.__setattr__(self, "interval", float(self.interval))
            if not 0 < float(self.interval) < np.inf:
                raise FarstepError(f"the interval must be above 0 seconds, not {self.interval}.")
        for names in (self.state_names, self.action_names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise FarstepError(f"'{repeated[0]}' names two columns; names must differ.")
        for name, low, high in zip(
            self.action_names, self.action_low, self.action_high, strict=True
        ):
            if not low <= high:
                raise FarstepError(f"the bounds [{low:g}, {high:g}] of '{name}' are empty.")

    @classmethod
    def unnamed(cls, num_states: int, num_actions: int) -> "Signals":
        """Return signals called s0, s1, … and a0, a1, …, with no bounds."""
        return cls(
            state_names=tuple(f"s{i}" for i in range(num_states)),
            action_names=tuple(f"a{i}" for i in range(num_actions)),
        )

    @property
    def num_states(self) -> int:
        """Dimensions of the state."""
        return len(self.state_names)

    @property
    def num_actions(self) -> int:
        """Dimensions of the action."""
        return len(self.action_names)

    @property
    def state_labels(self) -> list[str]:
        """Each state's name with its unit, where there is one: `speed [m/s]`."""
        pairs = zip(self.state_names, self.state_units, strict=True)
        return [f"{name} [{unit}]" if unit else name for name, unit in pairs]

    def outside_bounds(self, actions: Float[np.ndarray, "n k"]) -> Bool[np.ndarray, "n k"]:
        """Mark the actions beyond their bounds by more than float32 rounding."""
        low, high = np.array(self.action_low), np.array(self.action_high)
        slack = 1e-6 * np.where(np.isfinite(high - low), high - low, np.maximum(1, abs(actions)))
        return (actions < low - slack) | (actions > high + slack)

    def check_angles(self, angles: Sequence[Sequence[int]]) -> None:
        """Fail unless these are pairs of states, the cosine and the sine of one angle each."""
        check_pairs(angles)
        if any(not 0 <= one < self.num_states for pair in angles for one in pair):
            raise FarstepError(
                f"angles {angles} name dimensions beyond the {self.num_states} states."
            )

    @property
    def bounded(self) -> bool:
        """Whether every action has finite bounds."""
        return bool(np.isfinite([*self.action_low, *self.action_high]).all())

    def same_names(self, other: "Signals") -> bool:
        """Return whether states and actions are called the same."""
        return (self.state_names, self.action_names) == (other.state_names, other.action_names)

    def check_units(self, other: "Signals", whose: str, theirs: str) -> None:
        """Fail if a state or an action has one unit here and another there, where both are known.

        Args:
            other: Signals with as many states and actions.
            whose: What these are the signals of, for the message.
            theirs: What the others are of.
        """
        ours = zip(self.state_names, self.state_units, other.state_units, strict=True)
        acts = zip(self.action_names, self.action_units, other.action_units, strict=True)
        for name, here, there in (*ours, *acts):
            if here and there and here != there:
                raise FarstepError(
                    f"'{name}' is in {here} in {whose}, and in {there} in {theirs}; convert one."
                )

    def same_interval(self, other: "Signals") -> bool:
        """Return whether steps are equally long to a hundredth, or it is not known how long."""
        if self.interval is None or other.interval is None:
            return True
        return abs(self.interval / other.interval - 1) <= 0.01

    def unbounded(self) -> "Signals":
        """Return the same without bounds."""
        return replace(self, action_low=(), action_high=())

    def clip(self, actions: Float[np.ndarray, "*n k"]) -> Float[np.ndarray, "*n k"]:
        """Return the actions moved to the nearest bound."""
        return np.clip(actions, self.action_low, self.action_high).astype(actions.dtype)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; infinite bounds become None, since JSON has no infinity."""
        return {
            "state_names": list(self.state_names),
            "action_names": list(self.action_names),
            "state_units": list(self.state_units),
            "action_units": list(self.action_units),
            "action_low": json_numbers(self.action_low),
            "action_high": json_numbers(self.action_high),
            "interval": self.interval,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Signals":
        """Rebuild what `to_json` gave."""

        def bounds(key: str, unknown: float) -> Sequence[float]:
            return [unknown if value is None else value for value in data[key]]

        return cls(
            state_names=tuple(data["state_names"]),
            action_names=tuple(data["action_names"]),
            state_units=tuple(data["state_units"]),
            action_units=tuple(data["action_units"]),
            action_low=tuple(bounds("action_low", -np.inf)),
            action_high=tuple(bounds("action_high", np.inf)),
            interval=data["interval"],
        )


def check_pairs(angles: Sequence[Sequence[int]]) -> None:
    """Fail unless these could be the cosines and sines of angles, whatever the states are."""
    if any(len(pair) != 2 or pair[0] == pair[1] for pair in angles):
        raise FarstepError(f"angles {angles} must be pairs of two different dimensions.")
