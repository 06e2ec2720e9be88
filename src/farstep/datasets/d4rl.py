"""D4RL-style HDF5: flat arrays with `terminals` and `timeouts`. Read only."""

import warnings
from pathlib import Path

import h5py
import numpy as np

from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError, one_line

_ARRAYS = ("observations", "actions", "rewards", "terminals", "timeouts", "next_observations")


def read(path: Path) -> Episodes:
    """Read a file and cut its flat arrays into episodes.

    Row t holds observation, action and reward of step t. An episode ends where `terminals` or
    `timeouts` is set. Its last state comes from `next_observations`; without that array the last
    step of each episode has no next state and is dropped.
    """
    try:
        with h5py.File(path) as file:
            arrays = {name: np.asarray(file[name]) for name in _ARRAYS if name in file}
            found = ", ".join(file) or "none"
    except (OSError, RuntimeError, KeyError, AttributeError) as error:
        raise FarstepError(f"not readable as HDF5: {one_line(error)}") from error
    for name in ("observations", "actions"):
        if name not in arrays:
            raise FarstepError(f"there is no array '{name}' (there are {found}).")
    rows = len(arrays["observations"])
    ragged = {name: len(value) for name, value in arrays.items() if len(value) != rows}
    if ragged:
        raise FarstepError(f"observations have {rows} rows, but others differ: {ragged}.")
    terminals = arrays.get("terminals", np.zeros(rows, bool)).astype(bool).reshape(-1)
    timeouts = arrays.get("timeouts", np.zeros(rows, bool)).astype(bool).reshape(-1)
    ends = np.flatnonzero(terminals | timeouts)
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends + 1, [rows]])
    bounds = [(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True) if b > a]
    following = arrays.get("next_observations")
    episodes = [
        _episode(arrays, following, start, stop, bool(terminals[stop - 1]))
        for start, stop in bounds
        if following is not None or stop - start > 1
    ]
    if following is None:
        warnings.warn(
            f"{path} has no next_observations: the last step of each of {len(bounds)} episodes has "
            "no next state and is dropped, and with it the end of the task where it was one.",
            DataWarning,
            stacklevel=2,
        )
    return Episodes.from_list(episodes)


def _episode(
    arrays: dict[str, np.ndarray],
    following: np.ndarray | None,
    start: int,
    stop: int,
    terminal: bool,
) -> Episode:
    states = arrays["observations"][start:stop]
    steps = slice(start, stop if following is not None else stop - 1)
    if following is not None:
        states = np.concatenate([states, following[stop - 1 : stop]])
    rewards = arrays.get("rewards")
    return Episode(
        states=states,
        actions=arrays["actions"][steps],
        rewards=None if rewards is None else rewards.reshape(-1)[steps],
        terminated=terminal and following is not None,
        truncated=not terminal or following is None,
    )
