"""Arguments of a wrong type are one clear line, in a process without the tests' type checks."""

import subprocess
import sys

WRONG = """
import numpy
from farstep.data.columns import Columns
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.data.summary import describe
from farstep.errors import FarstepError

data = Episodes.from_list([Episode([[0.0]] * 3, [[0.0]] * 2)] * 5)
for name, wrong in (
    ("interval", lambda: Signals(("x",), ("u",), interval="fast")),
    ("observation_names", lambda: Signals(observation_names=("level"), action_names=("valve",))),
    ("action_low", lambda: Signals(("x",), ("u",), action_low=("a",))),
    ("test", lambda: data.split(test="a")),
    ("seed", lambda: data.split(seed=1.5)),
    ("Episode", lambda: Episodes.from_list([1])),
    ("observations", lambda: Columns(observations="speed", actions=("u",))),
    ("'sec'", lambda: Columns(("x",), ("u",), time="t", time_unit="sec")),
    ("gap", lambda: Columns(("x",), ("u",), time="t", gap="wide")),
    ("gap", lambda: Columns(("x",), ("u",), time="t", gap=numpy.float32(0.5))),
    ("path", lambda: read_dataset(5)),
    ("Episodes", lambda: write_dataset("data", "x.npz")),
    ("Episodes", lambda: describe("data")),
):
    try:
        wrong()
    except FarstepError as error:
        assert name in str(error) and "\\n" not in str(error), (name, str(error))
    else:
        raise AssertionError(name)
"""


def test_arguments_of_a_wrong_type_are_named():
    done = subprocess.run([sys.executable, "-c", WRONG], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
