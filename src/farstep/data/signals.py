"""Signals: names, units and bounds of the columns of observations and actions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from farstep.errors import FarstepError
from farstep.settings import check_fields, native
from farstep.storage.fingerprint import json_numbers, plain


@dataclass(frozen=True)
class Signals:
    """Names, units and bounds of a system's observations and actions."""

    observation_names: tuple[str, ...]
    action_names: tuple[str, ...]
    observation_units: tuple[str, ...] = ()
    """One for each observation; "" if it has none or it is unknown."""
    action_units: tuple[str, ...] = ()
    action_low: tuple[float, ...] = ()
    """Lower bound of each action; minus infinity where unknown."""
    action_high: tuple[float, ...] = ()
    interval: float | None = None
    """Seconds from one observation to the next; None if unknown."""

    def __post_init__(self) -> None:
        check_fields(self, positive=("interval",))
        defaults = {
            "observation_units": ("", self.num_observations),
            "action_units": ("", self.num_actions),
            "action_low": (-np.inf, self.num_actions),
            "action_high": (np.inf, self.num_actions),
        }
        for name, (default, count) in defaults.items():
            values = getattr(self, name) or (default,) * count
            if len(values) != count:
                raise FarstepError(f"{name} has {len(values)} entries, but {count} are needed.")
            object.__setattr__(self, name, values)
        for names in (self.observation_names, self.action_names):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise FarstepError(f"two columns are called '{repeated[0]}'; rename one.")
        for name, low, high in zip(
            self.action_names, self.action_low, self.action_high, strict=True
        ):
            if not low <= high:
                raise FarstepError(f"the bounds [{low:g}, {high:g}] of '{name}' are empty.")

    @classmethod
    def unnamed(cls, num_observations: int, num_actions: int) -> "Signals":
        """Return signals called s0, s1, … and a0, a1, …, with no bounds."""
        return cls(
            observation_names=tuple(f"s{i}" for i in range(num_observations)),
            action_names=tuple(f"a{i}" for i in range(num_actions)),
        )

    @property
    def num_observations(self) -> int:
        """Dimensions of the observation."""
        return len(self.observation_names)

    @property
    def num_actions(self) -> int:
        """Dimensions of the action."""
        return len(self.action_names)

    def _all(self, kind: str) -> tuple[str, ...]:
        """Return the names or units of observations, then of actions."""
        return (*getattr(self, f"observation_{kind}"), *getattr(self, f"action_{kind}"))

    @property
    def observation_labels(self) -> list[str]:
        """Each observation's name with its unit, where there is one: `speed [m/s]`."""
        pairs = zip(self.observation_names, self.observation_units, strict=True)
        return [f"{name} [{unit}]" if unit else name for name, unit in pairs]

    def outside_bounds(self, actions: Float[np.ndarray, "n k"]) -> Bool[np.ndarray, "n k"]:
        """Mark actions outside their bounds by more than float32 rounding."""
        low, high = np.array(self.action_low), np.array(self.action_high)
        slack = 1e-6 * np.where(np.isfinite(high - low), high - low, np.maximum(1, abs(actions)))
        return (actions < low - slack) | (actions > high + slack)

    def check_angles(self, angles: Sequence[Sequence[int]]) -> None:
        """Fail unless these are pairs of observation dimensions."""
        check_pairs(angles)
        if any(not 0 <= one < self.num_observations for pair in angles for one in pair):
            raise FarstepError(
                f"angles {angles} name dimensions that the {self.num_observations} observations do "
                "not have."
            )

    @property
    def bounded(self) -> bool:
        """Whether every action has finite bounds."""
        return bool(np.isfinite([*self.action_low, *self.action_high]).all())

    def same_names(self, other: "Signals") -> bool:
        """Return whether observations and actions have the same names."""
        return self._all("names") == other._all("names")

    def check_units(self, other: "Signals", whose: str, theirs: str) -> None:
        """Fail if an observation or action has different known units here and there.

        Args:
            other: Signals with as many observations and actions.
            whose: The owner of these signals, for the message.
            theirs: The owner of the others.
        """
        columns = zip(self._all("names"), self._all("units"), other._all("units"), strict=True)
        for name, here, there in columns:
            if here and there and here != there:
                raise FarstepError(
                    f"'{name}' is in {here} in {whose}, and in {there} in {theirs}; convert one."
                )

    def same_interval(self, other: "Signals") -> bool:
        """Return whether the intervals are equal to 1 %, or one of them is unknown."""
        if self.interval is None or other.interval is None:
            return True
        return abs(self.interval / other.interval - 1) <= 0.01

    def unbounded(self) -> "Signals":
        """Return these signals without bounds."""
        return replace(self, action_low=(), action_high=())

    def clip(self, actions: Float[np.ndarray, "*n k"]) -> Float[np.ndarray, "*n k"]:
        """Return the actions moved to the nearest bound."""
        return np.clip(actions, self.action_low, self.action_high).astype(actions.dtype)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; infinite bounds become None, since JSON has no infinity."""
        bounds = {n: json_numbers(getattr(self, n)) for n in ("action_low", "action_high")}
        return {**plain(self), **bounds}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Signals":
        """Return signals from the values of `to_json`."""
        values = {name: native(value) for name, value in data.items()}
        for name, unknown in {"action_low": -np.inf, "action_high": np.inf}.items():
            values[name] = tuple(unknown if bound is None else bound for bound in values[name])
        return cls(**values)


def check_pairs(angles: Sequence[Sequence[int]]) -> None:
    """Fail unless these are pairs of different dimensions, such as a cosine and a sine."""
    if any(len(pair) != 2 or pair[0] == pair[1] for pair in angles):
        raise FarstepError(f"angles {angles} must be pairs of two different dimensions.")
