"""The checks that trajectories pass on entry; each failure says what, where and what to do."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike

from farstep.errors import FarstepError
from farstep.signals import Signals


def check_trajectory(
    number: int,
    states: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray | None,
    clean_states: np.ndarray | None,
    like: tuple[np.ndarray, np.ndarray],
) -> None:
    """Check the shapes of episode `number` against each other and the first episode's."""
    for name, value, first in zip(("states", "actions"), (states, actions), like, strict=True):
        if value.ndim != 2 or value.shape[1:] != first.shape[1:]:
            raise FarstepError(
                f"episode {number} has {name} of shape {value.shape}, episode 0 of {first.shape}; "
                "they must be (steps, dimensions), with the same dimensions in every episode."
            )
    if len(states) != len(actions) + 1:
        raise FarstepError(
            f"episode {number} has {len(states)} states and {len(actions)} actions; "
            "T actions need T + 1 states."
        )
    if rewards is not None and rewards.shape != (len(actions),):
        raise FarstepError(
            f"episode {number} has rewards of shape {rewards.shape} for {len(actions)} actions; "
            "give one reward for each action."
        )
    if clean_states is not None and clean_states.shape != states.shape:
        raise FarstepError(
            f"episode {number} has clean states of shape {clean_states.shape} and states of "
            f"{states.shape}; they must have the same."
        )


def whole_numbers(name: str, values: ArrayLike) -> Int[np.ndarray, " n"]:
    """Return a new array of integers; anything else is an error."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        given = " ".join(repr(array).split())[:80]
        raise FarstepError(f"{name} must be a list of whole numbers, not {given}.")
    return array.astype(np.int64)


def check_lengths(lengths: Int[np.ndarray, " n"]) -> None:
    """Check that there is an episode and that each has a transition."""
    if len(lengths) == 0:
        raise FarstepError("there are no episodes; give at least one.")
    if lengths.min() < 1:
        number = int(np.argmin(lengths))
        raise FarstepError(
            f"episode {number} has no transition; each episode needs at least two states."
        )


def check_shape(name: str, value: np.ndarray | None, shape: tuple[int, ...]) -> None:
    """Check one array against the shape that lengths and signals imply."""
    if value is not None and value.shape != shape:
        raise FarstepError(
            f"{name} has shape {value.shape}, but the episodes' lengths and signals need {shape}."
        )


def check_finite(
    name: str,
    value: np.ndarray | None,
    offsets: Int[np.ndarray, " _"],
    columns: Sequence[str] = (),
) -> None:
    """Check for NaN and infinity; `offsets` tell which rows belong to which episode."""
    if value is None:
        return
    with np.errstate(all="ignore"):
        # A sum is not finite if a term is not, and it needs no array as large as the data.
        if np.isfinite(value.sum()):
            return
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        where = f" of '{columns[bad[0][1]]}'" if columns else ""
        raise FarstepError(
            f"{name} has {len(bad)} value(s) that are NaN or infinite, the first{where} in "
            f"{_place(int(bad[0][0]), offsets)}; remove or repair these rows."
        )


def check_bounds(actions: np.ndarray, offsets: Int[np.ndarray, " _"], signals: Signals) -> None:
    """Check that the actions lie within their bounds."""
    if not np.isfinite([*signals.action_low, *signals.action_high]).any():
        return
    outside = signals.outside_bounds(actions)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        low, high = signals.action_low[column], signals.action_high[column]
        raise FarstepError(
            f"{int(outside.sum())} action(s) lie outside their bounds, the first in "
            f"{_place(int(row), offsets)}: '{signals.action_names[column]}' is "
            f"{actions[row, column]:.6g}, its bounds are [{low:g}, {high:g}]. "
            "Correct the bounds, or clip the actions (clip_actions=True, --clip-actions)."
        )


def _place(row: int, offsets: Int[np.ndarray, " _"]) -> str:
    episode = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"episode {episode} at step {int(row - offsets[episode])}"


def unresolved(states: np.ndarray, offsets: Int[np.ndarray, " _"], names: Sequence[str]) -> str:
    """Return a sentence on states whose changes are lost beside their size in float32, or ""."""
    inside = np.ones(len(states) - 1, bool)
    inside[offsets[1:-1] - 1] = False
    change = np.diff(states.astype(np.float64), axis=0)[inside].std(axis=0)
    size = np.abs(states).max(axis=0)
    finest = np.spacing(size.astype(np.float32))
    lost = np.flatnonzero(finest > 0.01 * change)
    lost = lost[states.astype(np.float64).std(axis=0)[lost] > 0]
    if not len(lost):
        return ""
    first = lost[0]
    return (
        f"'{names[first]}' goes up to {size[first]:.6g} and changes by {change[first]:.2g} a step, "
        f"of which the numbers here (float32) resolve {finest[first]:.2g} at best; subtract a "
        f"constant from it ({len(lost)} such state(s))."
    )


def check_horizon(horizon: int, lengths: Int[np.ndarray, " n"]) -> None:
    """Check that a window of `horizon` steps fits into at least one episode."""
    if horizon < 1:
        raise FarstepError(f"the horizon must be at least 1, not {horizon}.")
    if horizon > lengths.max():
        raise FarstepError(
            f"a horizon of {horizon} steps is longer than every episode (the longest has "
            f"{lengths.max()}); choose a shorter one."
        )
