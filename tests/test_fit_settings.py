"""Settings and data that a fit refuses, and says why."""

import subprocess
import sys

import numpy as np
import pytest

from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from pendulum import TINY, pendulum


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("horizon=1.5", "horizon must be a whole number of at least 1, not 1.5"),
        ("target='dleta'", "there is no target 'dleta'. Did you mean 'delta'"),
        ("stop_on='foo'", "there is no stop_on 'foo'"),
    ],
)
def test_settings_of_the_wrong_kind_are_errors_for_users_too(setting: str, said: str):
    """In a process without the tests' own type checks."""
    code = f"from farstep.fitting.config import FitConfig\nFitConfig({setting}).check()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said in done.stderr.splitlines()[-1]


def test_numpys_numbers_are_settings_too():
    model = fit(pendulum(2), pendulum(1), **{**TINY, "epochs": np.int64(1)})
    assert model.config["epochs"] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"horizn": 3}, "there is no setting 'horizn'. Did you mean 'horizon'"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"seed": 2**70}, "seed must be"),
        ({"batch": 1, "normalisation": "batch"}, "at least two windows"),
        ({"angles": ((1, 1),)}, "two different dimensions"),
        ({"model": "linear", "members": 2}, "members at 1"),
        ({"horizon": 2, "weights": lambda _: 1.0}, "one weight for each"),
        ({"horizon": 61, "weights": "uniform"}, "longer than every episode"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"weights": "explicit:1,1", "horizon": 3}, "for horizon 3"),
        ({"weights": "decy:1"}, "Did you mean 'decay'"),
        ({"gradient": "cut"}, "there is no gradient"),
        ({"angles": ((0, 5),)}, "beyond the 2 states"),
        ({"model": "linear", "stride": 2}, "one step ahead"),
        ({"config": "papr"}, "no preset 'papr'. Did you mean 'paper'"),
        ({"compositions": 0}, "compositions must be a whole number"),
        ({"epochs": 0}, "epochs must be a whole number"),
    ],
)
def test_bad_settings_are_errors(settings: dict, said: str):
    with pytest.raises(FarstepError, match=said):
        fit(pendulum(2), pendulum(1), **settings)


def test_data_that_do_not_match_are_an_error(small: Episodes):
    with pytest.raises(FarstepError, match="different states or actions"):
        fit(pendulum(2), small)
