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
    following = arrays.get("next_observations")
    ends = np.flatnonzero(terminals | timeouts | _jumps(path, arrays, terminals | timeouts))
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends + 1, [rows]])
    bounds = [(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True) if b > a]
    episodes = [
        _episode(arrays, start, stop, bool(terminals[stop - 1]), bool(timeouts[stop - 1]))
        for start, stop in bounds
        if following is not None or stop - start > 1
    ]
    if following is None:
        _say(
            f"{path} has no next_observations: the last step of each of {len(bounds)} episodes has "
            "no next state and is dropped, and with it the end of the task where it was one."
        )
    return Episodes.from_list(episodes)


def _jumps(path: Path, arrays: dict[str, np.ndarray], flagged: np.ndarray) -> np.ndarray:
    """Mark rows whose next observation is not the next row's: an end that no flag tells."""
    jumps = np.zeros(len(flagged), bool)
    if "next_observations" in arrays:
        same = np.isclose(arrays["next_observations"][:-1], arrays["observations"][1:], atol=1e-6)
        jumps[:-1] = ~same.all(axis=1) & ~flagged[:-1]
        if jumps.any():
            _say(
                f"{path}: at {int(jumps.sum())} place(s) without a flag the next observation is "
                "not the next row's; each starts a new episode."
            )
    elif "terminals" not in arrays and "timeouts" not in arrays:
        _say(
            f"{path} has neither terminals nor timeouts nor next_observations: all of it is taken "
            "as one episode."
        )
    return jumps


def _say(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=3)


def _episode(
    arrays: dict[str, np.ndarray], start: int, stop: int, terminal: bool, timeout: bool
) -> Episode:
    states, rewards = arrays["observations"][start:stop], arrays.get("rewards")
    following = arrays.get("next_observations")
    steps = slice(start, stop if following is not None else stop - 1)
    if following is not None:
        states = np.concatenate([states, following[stop - 1 : stop]])
    return Episode(
        states=states,
        actions=arrays["actions"][steps],
        rewards=None if rewards is None else rewards.reshape(-1)[steps],
        terminated=terminal and following is not None,
        truncated=timeout or not terminal or following is None,
    )
