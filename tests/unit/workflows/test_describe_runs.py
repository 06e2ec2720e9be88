"""Finished runs of any kind: listed, selected by their settings, compared and removed."""

from pathlib import Path

import pytest

from farstep.errors import FarstepError
from farstep.storage.files import locked
from farstep.storage.run_directory import finished_runs
from farstep.workflows.describe_runs import (
    differences,
    distinguishing,
    headline,
    remove,
    selected,
    settings_of,
    shown,
)
from farstep.workflows.runs import Store
from square import Square

FIT = {"kind": "fit", "config": {"width": 8, "horizon": 4, "seed": 0}, "result": {}}
OFFLINE = {
    "kind": "offline",
    "config": {"fit": {"horizon": 2, "seed": 0}, "agent": {"steps": 10}, "seed": 3},
    "result": {"return": 1.5, "imagined_return": 2.5, "seed": 3, "notes": ["x"]},
}
RUNS = {"a": FIT, "b": OFFLINE}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"horizon": 4}, ["a"]),
        ({"fit.horizon": 2}, ["b"]),
        ({"steps": "10", "kind": "offline"}, ["b"]),
        ({"seed": 3}, ["b"]),
        ({"horizon": 9}, []),
        ({}, ["a", "b"]),
    ],
)
def test_runs_are_selected_by_their_settings(wanted: dict, names: list[str]):
    assert list(selected(RUNS, wanted)) == names


def test_an_unknown_or_ambiguous_setting_is_refused():
    with pytest.raises(FarstepError, match=r"'horizn'.*'horizon'"):
        selected(RUNS, {"horizn": 4})
    both = {"kind": "x", "config": {"fit": {"steps": 1}, "agent": {"steps": 2}}, "result": {}}
    with pytest.raises(FarstepError, match=r"fit\.steps or agent\.steps"):
        selected({"c": both}, {"steps": 1})
    assert list(selected({**RUNS, "c": both}, {"steps": 10, "kind": "offline"})) == ["b"]


def test_the_settings_that_differ_are_named():
    other = {**FIT, "config": {**FIT["config"], "horizon": 1}}
    assert differences([FIT, other]) == {"horizon": [4, 1]}
    assert distinguishing([FIT, other, OFFLINE]) == ["horizon=4", "horizon=1", ""]
    assert settings_of(OFFLINE)["fit.horizon"] == 2


def test_the_main_results_are_numbers():
    assert headline(OFFLINE) == {"return": 1.5, "imagined return": 2.5}
    rows = [{"return": 3.0}, {"return": None}, {"return": 1.0}]
    assert headline({"result": {"rows": rows}}) == {"last return": 1.0, "best return": 3.0}
    assert headline({"result": {"rows": [{"return": None}]}}) == {}
    online = [{"steps": 20.0, "real_return": 7.0}]  # an agent of a real system imagines nothing
    assert headline({"result": {"curve": online}}) == {"steps": 20.0, "real return": 7.0}
    assert [shown(value) for value in (None, 0.123456, 7, "x")] == ["–", "0.1235", "7", "x"]


def test_only_runs_that_no_process_computes_are_removed(tmp_path: Path):
    store, notes = Store(tmp_path / "runs"), tmp_path / "runs" / "notes"
    notes.mkdir(parents=True)
    store.run(Square(3))
    name = store.directory(Square(3)).name
    for other in ("..", ".", "notes", "", "../runs"):
        with pytest.raises(FarstepError, match="no run"):
            remove(store.folder, other)
    with locked(store.directory(Square(3))), pytest.raises(FarstepError, match=name):
        remove(store.folder, name)
    assert list(finished_runs(store.folder)) == [name]
    remove(store.folder, name)
    assert notes.is_dir() and not store.directory(Square(3)).exists()
