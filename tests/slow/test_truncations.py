"""Files that are truncated; `python -m tests.slow.truncate` does it at every byte."""

from pathlib import Path

import pytest

from tests.slow.formats import FORMATS
from tests.slow.survey import OTHER, REFUSED, truncated


@pytest.mark.parametrize("name", FORMATS)
def test_a_truncation_is_a_clear_error(name: str, tmp_path: Path):
    found = truncated(name, tmp_path, most=150)
    assert not [outcome for outcome in found if outcome.startswith("fault")]
    assert found[REFUSED] > 0.9 * found.total()
    if name != "csv":  # which may end on a complete row: that is a shorter log
        assert found[OTHER] == 0
