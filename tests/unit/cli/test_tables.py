"""Tables for the terminal."""

import numpy as np
import pytest

from farstep.cli.tables import print_summary, print_table
from farstep.data.episodes import Episodes


def test_nothing_is_cut_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "20")
    print_table("Runs", ["name", "text"], [("x" * 40, "[red]y[/red]")], texts=["text"])
    printed = capsys.readouterr().out
    assert "x" * 40 in printed and "[red]y[/red]" in printed


def test_numbers_have_four_digits(capsys: pytest.CaptureFixture[str]):
    numbers = (1 / 3, 123456.7, 5.0, 1e-9, 7, float("nan"))
    print_table("Numbers", ["name", *"abcdef"], [("row", *numbers)])
    row = capsys.readouterr().out.strip().splitlines()[-1].split()
    assert row == ["row", "0.3333", "123,457", "5", "1e-09", "7", "nan"]


def test_a_summary_has_counts_quantiles_and_dimensions(
    small: Episodes, capsys: pytest.CaptureFixture[str]
):
    print_summary(small)
    printed = capsys.readouterr().out
    for text in ("3 episodes", "11 steps", "tank", "1 terminated", "2 truncated", "valve [-1, 1]"):
        assert text in printed
    level = next(line for line in printed.splitlines() if line.strip().startswith("level"))
    column = small.observations[:, 0].astype(float)
    expected = [column.min(), column.max(), column.mean(), column.var()]
    shown = [float(cell) for cell in level.split()[3:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-3)
