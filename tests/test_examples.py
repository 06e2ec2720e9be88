"""The examples run."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_pytorch_model_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    result = _loaded("pytorch_model").main(horizon=5)
    assert result["PyTorch"].r2.shape == (1, 5)
    # A few hundred updates are enough to know more than nothing one step ahead.
    assert result["PyTorch"].at(1)[0] > 0.95
    assert (tmp_path / "pytorch-score" / "report.html").exists()
    assert "PyTorch" in capsys.readouterr().out
