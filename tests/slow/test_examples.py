"""The examples run; `multistep_model.py` has tests of its own."""

from pathlib import Path

import pytest


def test_a_pytorch_model_is_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from examples import pytorch_model

    monkeypatch.chdir(tmp_path)
    result = pytorch_model.main(horizon=5)
    assert result["PyTorch"].r2.shape == (1, 5)
    # A few hundred updates are enough to know more than nothing one step ahead.
    assert result["PyTorch"].at(1)[0] > 0.95
    assert (tmp_path / "pytorch-evaluation" / "report.html").exists()
    assert "PyTorch" in capsys.readouterr().out
