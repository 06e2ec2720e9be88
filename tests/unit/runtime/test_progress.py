"""Progress bars, the machine's description and optional dependencies."""

import importlib.util
from importlib.metadata import version

import pytest

from farstep.errors import FarstepError
from farstep.runtime import progress
from farstep.runtime.machine import EXTRAS, machine, require, versions
from farstep.runtime.processes import usable_cores


def test_a_bar_tells_listeners_and_prints_nothing_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    heard = []
    monkeypatch.setattr(progress, "_listeners", [])
    progress.listen(lambda *change: heard.append(change))
    assert list(progress.track("ab", 2, "letters", "letter")) == ["a", "b"]
    with progress.Bar("fit", 10, "epoch", done=4) as bar:
        bar.advance("loss 1", by=3)
    assert heard == [("letters", 1, 2, ""), ("letters", 2, 2, ""), ("fit", 7, 10, "loss 1")]
    printed = capsys.readouterr()
    assert printed.out.strip() == printed.err.strip() == ""


def test_a_missing_extra_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for extra in EXTRAS:
        with pytest.raises(FarstepError, match=rf"farstep\[{extra}\]"):
            require(extra)


def test_the_machine_and_the_versions_are_described():
    assert f"{usable_cores()} cores" in machine()
    assert versions()["jax"] == version("jax")
    assert versions()["farstep"] == version("farstep")
