"""The example of a sweep: its runs compute what the page says."""

from pathlib import Path

import pytest

from examples.horizon_sweep import FitHorizon
from farstep.workflows.runs import Store
from tests.slow.small_sizes import use_small_sizes


def test_a_run_fits_and_evaluates_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use_small_sizes(monkeypatch)
    store, run = Store(tmp_path), FitHorizon(horizon=2, seed=0)
    result = store.run(run)
    assert result["r2"] < 1
    assert (store.directory(run) / "model" / "model.safetensors").exists()
    assert store.missing([run, FitHorizon(horizon=3, seed=0)]) == [FitHorizon(horizon=3, seed=0)]
