"""Files that are damaged at random; `python -m tests.slow.mutate` does it more often."""

from collections import Counter
from pathlib import Path

import pytest

from tests.slow.formats import FORMATS
from tests.slow.mutate import in_a_process
from tests.slow.survey import REFUSED, mutated

_UNSEALED = ("minari data of others", "hdf5 of others")
"""The HDF5 library reads damaged bytes; if it crashes, the tests should not."""


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in _UNSEALED])
def test_damage_is_a_clear_error_or_does_no_harm(name: str, tmp_path: Path):
    found = Counter(outcome for _, outcome in mutated(name, tmp_path, range(250)))
    assert not [outcome for outcome in found if outcome.startswith("fault")]
    assert found[REFUSED] > 100


def test_damage_that_the_hdf5_library_reads_is_a_clear_error():
    found = Counter(in_a_process(_UNSEALED[0], range(200)).values())
    assert not [outcome for outcome in found if outcome.startswith("fault")]
    assert found[REFUSED] > 100


def test_the_end_of_the_process_would_be_a_fault():
    """The worker has too little memory to start in."""
    (found,) = in_a_process("csv", range(1), memory=0).values()
    assert found.startswith("fault: ended the process")
