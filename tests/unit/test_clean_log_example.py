"""The example that cleans a log: a messy export becomes one that Farstep reads."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from farstep.data.columns import Columns
from farstep.data.dataset_files import read_dataset
from farstep.errors import DataWarning

EXPORT = """Zeit;Füllstand;Pumpe
01.03.2026 08:00:00;1,0;5,0
01.03.2026 08:00:02;2,0;5,0
01.03.2026 08:00:02;2,0;5,0
01.03.2026 08:00:04;;6,0
01.03.2026 08:00:06;4,0;7,0
01.03.2026 09:00:00;8,5;1,0
01.03.2026 09:00:01;9,0;1,0
01.03.2026 09:00:02;9,5;1,0
"""


@pytest.fixture(scope="module")
def example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "clean_log.py"
    spec = importlib.util.spec_from_file_location("clean_log", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["clean_log"] = module
    spec.loader.exec_module(module)
    return module


def test_a_messy_export_becomes_runs_of_one_rate(example: ModuleType, tmp_path: Path):
    (tmp_path / "export.csv").write_text(EXPORT, encoding="cp1252")
    assert example.clean(tmp_path / "export.csv", tmp_path / "clean.csv") == 2
    columns = Columns(observations=("Füllstand",), actions=("Pumpe",), episode="run", time="time")
    with pytest.warns(DataWarning, match="the last row of 2 episode"):
        data = read_dataset(tmp_path / "clean.csv", columns)
    assert data.signals.interval == pytest.approx(2.0)
    np.testing.assert_allclose(data[0].observations[:, 0], [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(data[0].actions[:, 0], [5.0, 5.0, 5.0])
    np.testing.assert_allclose(data[1].observations[:, 0], [8.5, 9.5])
