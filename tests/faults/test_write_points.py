"""A crash at every single point of a write: the old or the new is there, whole."""

import functools
import itertools
from pathlib import Path

import pytest
from tests.faults.crashes import crashes
from tests.pendulum import TINY, pendulum

from farstep import tensors
from farstep.files import publish
from farstep.fitting.fit import fit
from farstep.model import load_model

_SETTINGS = {**TINY, "epochs": 2, "width": 4, "normalisation": "none"}


def _content(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    inside = [one for one in path.rglob("*") if one.is_file()]
    return {str(one.relative_to(path)): one.read_bytes() for one in inside}


@pytest.mark.parametrize("names", [("",), ("a", "deep/b")])
def test_a_crash_leaves_the_old_or_the_new(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old, new = dict.fromkeys(names, b"old"), dict.fromkeys(names, b"newer")
    seen = []
    for at in itertools.count(1):
        path = tmp_path / str(at) / "x"
        publish(path, old)
        again = functools.partial(publish, path, new, force=True)
        crashed = crashes(monkeypatch, again, at)
        assert _content(path) in (old, new)
        seen.append(_content(path) == new)
        again()
        assert _content(path) == new
        if not crashed:
            break
    assert seen == sorted(seen), "the new one never goes away again"
    assert seen.count(False) >= 3


def test_a_fit_that_crashes_at_any_write_ends_in_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = _digest(fit(pendulum(2), pendulum(1), **_SETTINGS))
    at = 0
    for at in itertools.count(1):
        work = functools.partial(fit, pendulum(2), pendulum(1), out=tmp_path / str(at), **_SETTINGS)
        crashed = crashes(monkeypatch, work, at)
        assert _digest(work()) == expected
        assert _digest(load_model(tmp_path / str(at))) == expected
        assert not list((tmp_path / str(at)).glob(".*.part"))
        if not crashed:
            break
    assert at > 15


def _digest(model) -> str:
    return tensors.digest(tensors.to_arrays(model.dynamics))
