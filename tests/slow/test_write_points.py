"""A crash at every single point of a write: the old or the new is there, whole."""

import functools
import itertools
from pathlib import Path

import pytest

from farstep.models.model import Model, load_model
from farstep.storage import tensors
from farstep.storage.files import publish
from farstep.training.fit import fit
from tests import cart
from tests.slow.crashes import crashes

SETTINGS = {**cart.TINY_FIT, "width": 4, "horizon": 1}


def content(path: Path) -> dict[str, bytes]:
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
        assert content(path) in (old, new)
        seen.append(content(path) == new)
        again()
        assert content(path) == new
        if not crashed:
            break
    assert seen == sorted(seen), "once it is there, the new one stays"
    assert seen.count(False) >= 3


def test_a_fit_that_crashes_at_any_write_ends_bit_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = cart.data(2), cart.data(1, seed=1)
    expected = digest(fit(*data, **SETTINGS))
    at = 0
    for at in itertools.count(1):
        work = functools.partial(fit, *data, out=tmp_path / str(at), **SETTINGS)
        crashed = crashes(monkeypatch, work, at)
        assert digest(work()) == expected
        assert digest(load_model(tmp_path / str(at))) == expected
        assert not list((tmp_path / str(at)).glob(".*.part"))
        if not crashed:
            break
    assert at > 15


def digest(model: Model) -> str:
    return tensors.digest(tensors.to_arrays(model.dynamics))
