"""The checks that `Episodes` make on entry."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike

from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError

_SHORT = 0.3
"""Episodes of a part of a split are short if their mean is below this share of the overall one."""


def check_trajectory(
    number: int, arrays: Mapping[str, np.ndarray], first: Mapping[str, np.ndarray]
) -> None:
    """Check the shapes of an episode's arrays against each other and the first episode's."""
    sizes = {name: first[name].shape[-1:] for name in ("observations", "actions")}
    sizes |= {"rewards": (), "clean_observations": sizes["observations"]}
    steps = (arrays["actions"].shape or (0,))[0]
    for name, value in arrays.items():
        needed = (steps + ("observations" in name), *sizes[name])
        if value.shape != needed or len(needed) < value.ndim:
            raise FarstepError(
                f"episode {number} has {name.replace('_', ' ')} of shape {value.shape}, but its "
                f"{steps} actions need {needed}: T actions (T, dimensions) have T + 1 observations "
                "and T rewards, and all episodes the same dimensions."
            )


def whole_numbers(name: str, values: ArrayLike) -> Int[np.ndarray, " n"]:
    """Return a new array of integers; anything else is an error."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        given = " ".join(repr(array).split())[:80]
        raise FarstepError(f"{name} must be a list of whole numbers, not {given}.")
    return array.astype(np.int64)


def check_finite(
    name: str,
    value: np.ndarray | None,
    offsets: Int[np.ndarray, " _"],
    columns: Sequence[str] = (),
) -> None:
    """Fail on NaN or infinity; `offsets` are the first row of each episode."""
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
            f"{place(int(bad[0][0]), offsets)}; remove or repair these rows."
        )


def check_bounds(actions: np.ndarray, offsets: Int[np.ndarray, " _"], signals: Signals) -> None:
    """Fail unless the actions lie within their bounds."""
    if not np.isfinite([*signals.action_low, *signals.action_high]).any():
        return
    outside = signals.outside_bounds(actions)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        low, high = signals.action_low[column], signals.action_high[column]
        raise FarstepError(
            f"{int(outside.sum())} action(s) lie outside their bounds, the first in "
            f"{place(int(row), offsets)}: '{signals.action_names[column]}' is "
            f"{actions[row, column]:.6g}, its bounds are [{low:g}, {high:g}]. "
            "Correct the bounds, or clip the actions (clip_actions=True, --clip-actions)."
        )


def place(row: int, offsets: Int[np.ndarray, " _"]) -> str:
    """Return the episode and step of a row, in words; `offsets` are the episodes' first rows."""
    episode = int(np.searchsorted(offsets, row, side="right")) - 1
    return f"episode {episode} at step {int(row - offsets[episode])}"


def warn_of_short_parts(lengths: Mapping[str, np.ndarray]) -> None:
    """Warn if a part of a split has a far smaller share of the steps than of the episodes.

    Args:
        lengths: The lengths of each part's episodes, by the part's name.
    """
    every = np.concatenate(list(lengths.values()))
    for name, part in lengths.items():
        if part.mean() < _SHORT * every.mean():
            warnings.warn(
                f"the {name} part has {part.sum()} of {every.sum()} steps in {len(part)} of "
                f"{len(every)} episodes, since episodes differ much in length. Join or drop short "
                "ones, or cut long ones (--chunk-steps, episodes.chunked).",
                DataWarning,
                stacklevel=3,
            )
