"""Collecting in several real processes."""

import dataclasses
import os

import numpy as np
import pytest

from farstep.errors import DataWarning, FarstepError
from farstep.systems.collect import collect
from farstep.systems.registry import get_system

SHORT = dataclasses.replace(get_system("cartpole-swingup"), max_episode_steps=30)


def test_the_data_do_not_depend_on_the_number_of_workers():
    alone = collect(SHORT, episodes=5, seed=7)
    assert collect(SHORT, episodes=5, seed=7, workers=2).equals(alone)


class Tires:
    """Acts for four steps, then fails."""

    steps = 0

    def predict(self, observations: np.ndarray) -> np.ndarray:
        del observations
        self.steps += 1
        if self.steps > 4:
            raise OSError("tired")
        return np.zeros(1)


def test_what_a_worker_recorded_before_an_error_is_returned():
    with pytest.warns(DataWarning, match=r"episode 0, step 4 .*; 1 of 4 episode\(s\)"):
        assert collect(SHORT, Tires(), episodes=4, workers=2).lengths.tolist() == [4]


class Dies:
    """Ends its process."""

    def predict(self, observations: np.ndarray) -> np.ndarray:
        del observations
        os._exit(1)


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(FarstepError, match="worker process died"):
        collect(SHORT, Dies(), episodes=2, workers=2)
