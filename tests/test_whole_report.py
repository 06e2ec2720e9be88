"""One page of several directories: each exhibit once, from the first that has it."""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from farstep.errors import FarstepError
from farstep.exhibits import weight_profiles, whole_report
from farstep.exhibits.drawn_models import choice, model_names
from farstep.exhibits.exhibit import Exhibit, Plan, Results, Shown
from farstep.exhibits.whole_report import report
from farstep.machine import machine
from farstep.report.charts import Chart, Line, Panel
from farstep.report.table import Table
from farstep.runs.run import Run, Runs
from farstep.runs.store import Store


@dataclass(frozen=True)
class Number(Run):
    """A run that gives its own number."""

    number: int

    kind: ClassVar[str] = "number"

    @property
    def settings(self) -> dict[str, Any]:
        return {"number": self.number}

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        del place, store
        return {"number": self.number}


@dataclass(frozen=True)
class Numbers:
    """An exhibit of as many runs as there are seeds."""

    name: str
    first: int
    about: str = "some numbers"

    def runs(self, plan: Plan) -> Sequence[Run]:
        return [Number(self.first + seed) for seed in plan.seeds_of((0,))]

    def show(self, plan: Plan, results: Results) -> Shown:
        values = [results[run]["number"] for run in self.runs(plan)]
        chart = Chart("line", "Numbers", [Panel("", [Line("here", values, values)])])
        return Shown([chart], tables={"all": Table("Numbers", ["n"], [[str(n)] for n in values])})


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two directories: the first has the ones, and both have the tens."""
    shown = (weight_profiles.EXHIBIT, Numbers("ones", 1), Numbers("tens", 10), Numbers("no", 99))
    known: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in shown}
    monkeypatch.setattr(whole_report, "EXHIBITS", known)
    places = [tmp_path / "a", tmp_path / "b"]
    for place, numbers in zip(places, ((1, 10), (10,)), strict=True):
        for number in numbers:
            store, run = Store(place / "runs"), Number(number)
            store.run(run)
            record = {**(store.record(run) or {}), "seconds": 60.0}
            (store.place(run) / "run.json").write_text(json.dumps(record))
    return places


def test_an_exhibit_of_several_directories_is_shown_once(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    drawn = [("trajectories", ['<h2 id="trajectories">Trajectories</h2>'])]
    monkeypatch.setattr(whole_report, "trajectories", lambda _: drawn)
    for order in (folders, folders[::-1], [*folders, *folders]):
        text = report(order, tmp_path / "report.html", force=True).read_text()
        ids = re.findall(r'<(?:h2|div) id="([^"]+)"', text)
        assert [name for name, count in Counter(ids).items() if count > 1] == []
        expected = {"weight-profiles", "ones", "tens", "trajectories", "timings"}
        assert expected | {"chart-ones-line", "chart-tens-line"} <= set(ids)
        assert "Not computed, or not all of it: no.</p>" in text
        assert f"; on {html.escape(machine())}.</p>" in text
        assert f"farstep reproduce ones --out {folders[0]}" in text
        assert f"farstep reproduce tens --out {order[0]}" in text
        assert "<td>number</td><td>2</td><td>60</td><td>0.03</td><td>1.00 (2 runs)" in text


def test_a_number_of_seeds_is_checked(folders: list[Path], tmp_path: Path, farstep: Callable):
    with pytest.raises(FarstepError, match="seeds must be a whole number of at least 1, not 0"):
        report(folders, tmp_path / "report.html", seeds=0)
    done = farstep("report", *folders, "--seeds", 0, "--out", tmp_path / "report.html")
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err


def test_a_directory_of_runs_itself_and_fewer_seeds_are_found(folders: list[Path], tmp_path: Path):
    text = report([folders[0] / "runs"], tmp_path / "report.html").read_text()
    assert '<h2 id="ones">' in text
    Store(folders[0] / "runs").run(Number(2))
    text = report([folders[0]], tmp_path / "report.html", force=True).read_text()
    assert f"farstep reproduce ones --out {folders[0]}" in text  # one seed is the preset's
    text = report([folders[0]], tmp_path / "report.html", seeds=2, force=True).read_text()
    assert f"farstep reproduce ones --seeds 2 --out {folders[0]}" in text
    text = report(folders[:1], tmp_path / "report.html", only=["tens"], force=True).read_text()
    assert '<h2 id="tens">' in text and '<h2 id="ones">' not in text
    with pytest.raises(FarstepError, match="there is no exhibit 'tenths'"):
        report(folders[:1], tmp_path / "report.html", only=["tenths"], force=True)
    (tmp_path / "empty").mkdir()
    for given, message in (([tmp_path / "empty"], "has no runs"), ([], "name a directory")):
        with pytest.raises(FarstepError, match=message):
            report(given, tmp_path / "report.html", force=True)


def test_models_of_several_horizons_and_one_dataset_are_drawn():
    def fit(data: str, **config: int) -> dict[str, Any]:
        return {"settings": {"data": data, "config": config}}

    one, four, ten = fit("b"), fit("b", horizon=4), fit("b", horizon=10)
    others = [fit("a"), fit("b", seed=1), fit("b", horizon=2, stride=2), fit("b", horizon=4)]
    assert choice([others[0], ten, *others[1:3], four, one, others[3]]) == [one, four, ten]
    assert choice([]) == []


def test_models_are_told_by_their_horizon_and_by_what_differs():
    """What all of them share would fill the legend."""
    shared = {"width": 128, "residual": True}
    configs = [shared, {**shared, "horizon": 4, "weights": "decay:0.75"}]
    names = model_names([{"settings": {"config": config}} for config in configs])
    assert names == ["h = 1, weights uniform", "h = 4, weights decay:0.75"]
    assert model_names([{"settings": {"config": configs[1]}}]) == ["h = 4"]
    others = [{"width": 8, "depth": 1, "clip": clip} for clip in (1.0, 2.0)]
    names = model_names([{"settings": {"config": c}} for c in ({}, *others)])
    assert len(set(names)) == 3 and all(len(name) < 40 for name in names)
