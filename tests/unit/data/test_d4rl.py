"""Flat HDF5 files in the layout of D4RL."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from farstep.data.dataset_files import read_dataset
from farstep.errors import DataWarning, FarstepError

ROWS = np.arange(12.0, dtype=np.float32).reshape(6, 2)


def write(path: Path, **changes: np.ndarray | None) -> Path:
    """Write an episode of 3 that terminates, one of 2 that times out, and an unfinished one."""
    arrays = {
        "observations": ROWS,
        "next_observations": ROWS + 2,
        "actions": np.zeros((6, 1), np.float32),
        "rewards": np.arange(6.0),
        "terminals": np.array([0, 0, 1, 0, 0, 0], bool),
        "timeouts": np.array([0, 0, 0, 0, 1, 0], bool),
        **changes,
    }
    with h5py.File(path, "w") as file:
        for name, value in arrays.items():
            if value is not None:
                file[name] = value
    return path


def test_files_are_cut_at_terminals_and_timeouts(tmp_path: Path):
    data = read_dataset(write(tmp_path / "d4rl.hdf5"))
    assert data.lengths.tolist() == [3, 2, 1]
    assert data.terminated.tolist() == [True, False, False]
    assert data.truncated.tolist() == [False, True, True]
    assert data[0].observations[-1].tolist() == [6.0, 7.0]
    assert data[1].rewards is not None
    assert data[1].rewards.tolist() == [3.0, 4.0]


def test_without_next_observations_each_last_step_is_dropped(tmp_path: Path):
    path = write(tmp_path / "d4rl.hdf5", next_observations=None)
    with pytest.warns(DataWarning, match="next_observations.*3 episodes"):
        data = read_dataset(path)
    assert data.lengths.tolist() == [2, 1]
    assert data.terminated.tolist() == [False, False]
    assert data[0].observations.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_files_are_cut_where_the_next_observation_differs(tmp_path: Path):
    following = ROWS + 2
    following[3] += 0.5
    none = np.zeros(6, bool)
    path = write(tmp_path / "a.hdf5", next_observations=following, terminals=none, timeouts=none)
    with pytest.warns(DataWarning, match=r"1 place\(s\)"):
        data = read_dataset(path)
    assert data.lengths.tolist() == [4, 2]
    assert data.truncated.all()
    path = write(tmp_path / "b.hdf5", next_observations=None, terminals=None, timeouts=None)
    with pytest.warns(DataWarning) as warned:
        assert read_dataset(path).lengths.tolist() == [5]
    assert any("neither terminals nor timeouts" in str(one.message) for one in warned)


def test_arrays_of_different_lengths_are_an_error(tmp_path: Path):
    path = write(tmp_path / "d4rl.hdf5", rewards=np.zeros(5))
    with pytest.raises(FarstepError, match=r"6 rows.*'rewards': 5"):
        read_dataset(path)
