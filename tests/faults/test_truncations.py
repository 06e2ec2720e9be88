"""Files that are cut off; `python -m tests.faults.truncate` does it at every byte."""

from pathlib import Path

import pytest
from tests.faults.formats import FORMATS
from tests.faults.survey import OTHER, REFUSED, truncated


@pytest.mark.parametrize("name", FORMATS)
def test_a_truncation_is_a_clear_error(name: str, tmp_path: Path):
    found = truncated(name, tmp_path, most=150)
    assert not [outcome for outcome in found if outcome.startswith("fault")]
    assert found[REFUSED] > 0.9 * found.total()
    if name != "csv":  # which may end on a whole row: that is a shorter log
        assert found[OTHER] == 0
