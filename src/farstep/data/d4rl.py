"""D4RL-style HDF5: flat arrays with `terminals` and `timeouts`. Read only."""

import warnings
from pathlib import Path

import h5py
import numpy as np

from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError

_ARRAYS = ("observations", "actions", "rewards", "terminals", "timeouts", "next_observations")


def read(path: Path) -> tuple[Episodes, Signals]:
    """Read a file, cut its flat arrays into episodes, and name the columns.

    Row t has observation, action and reward of step t. An episode ends where `terminals` or
    `timeouts` is set, and its last observation comes from `next_observations`. Without that array
    the last step of each episode is dropped.
    """
    with h5py.File(path) as file:
        arrays = {name: np.asarray(file[name]) for name in _ARRAYS if name in file}
        found = ", ".join(file) or "none"
    for name in ("observations", "actions"):
        if name not in arrays:
            raise FarstepError(f"there is no array '{name}'; it has {found}.")
    observations, following = arrays["observations"], arrays.get("next_observations")
    rows, rewards = len(observations), arrays.get("rewards")
    ragged = {name: len(value) for name, value in arrays.items() if len(value) != rows}
    if ragged:
        raise FarstepError(f"observations have {rows} rows, but other arrays differ: {ragged}.")
    terminals = arrays.get("terminals", np.zeros(rows, bool)).astype(bool).reshape(-1)
    timeouts = arrays.get("timeouts", np.zeros(rows, bool)).astype(bool).reshape(-1)
    ends = terminals | timeouts | _jumps(arrays, terminals | timeouts)
    stops = np.union1d(np.flatnonzero(ends) + 1, [rows]).tolist()
    episodes = []
    for start, stop in zip([0, *stops[:-1]], stops, strict=True):
        end = stop if following is not None else stop - 1
        last = observations[end:stop] if following is None else following[stop - 1 : stop]
        if end > start:
            terminated = bool(terminals[stop - 1]) and following is not None
            episode = Episode(
                observations=np.concatenate([observations[start:end], last]),
                actions=arrays["actions"][start:end],
                rewards=None if rewards is None else rewards.reshape(-1)[start:end],
                terminated=terminated,
                truncated=bool(timeouts[stop - 1]) or not terminated,
            )
            episodes.append(episode)
    if following is None:
        _warn(
            f"there are no next_observations: the last step of each of {len(stops)} episodes is "
            "dropped, and with it the terminated flag."
        )
    joined = Episodes.from_list(episodes)
    return joined, joined.signals


def _jumps(arrays: dict[str, np.ndarray], flagged: np.ndarray) -> np.ndarray:
    """Mark rows whose next observation differs from the next row's: ends without a flag."""
    jumps = np.zeros(len(flagged), bool)
    if "next_observations" in arrays:
        same = np.isclose(arrays["next_observations"][:-1], arrays["observations"][1:], atol=1e-6)
        jumps[:-1] = ~same.all(axis=1) & ~flagged[:-1]
        if jumps.any():
            _warn(
                f"at {int(jumps.sum())} place(s) without a flag the next observation differs from "
                "the next row's; each starts a new episode."
            )
    elif "terminals" not in arrays and "timeouts" not in arrays:
        _warn(
            "there are neither terminals nor timeouts nor next_observations: the file is read as "
            "one episode."
        )
    return jumps


def _warn(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=3)
