"""Records: what was computed is stored with its settings, and figures are drawn from it."""

import csv
import json
import math
import statistics
from pathlib import Path

import pytest

from farstep import FarstepError
from reproduction import records
from reproduction.figure import Figure, Plan, Row, short_name
from reproduction.records import Record
from reproduction.reproduce import FIGURES, figures_named
from reproduction.runs import PAPER, ModelFit

DATA = "cartpole-swingup/random"
DOCS = Path(__file__).parents[3] / "docs" / "figures" / "paper"
PAPERS = {figure.name: figure for figure in figures_named("all")}


def row(seed: int = 0, horizon: int = 100) -> Row:
    return Row(DATA, "a model", seed, ModelFit(DATA, PAPER, horizon))


@pytest.mark.parametrize("figure", PAPERS.values(), ids=list(PAPERS))
def test_every_figure_is_drawn_from_the_records_as_in_the_docs(figure: Figure):
    plan = Plan("standard")
    rows = figure.rows(plan)
    found = records.load(figure.name, rows)
    assert list(found) == list(rows)  # nothing is left to compute
    assert all(math.isfinite(t) for one in found.values() for t in one.seconds.values() if t)
    drawing = figure.draw(plan, {one: record.values for one, record in found.items()})
    for chart in drawing.charts:
        assert (DOCS / figure.name / f"{chart.name}.png").exists()
    for name in drawing.pictures:
        assert (DOCS / figure.name / f"{name}.png").exists()
    for title, table in drawing.tables.items():
        path = DOCS / figure.name / f"{short_name(title)}.md"
        assert path.read_text() == table.markdown, f"{path} is old: run make paper"


def test_the_records_are_small_and_all_are_in_use():
    files = sorted(records.FOLDER.glob("*.csv"))
    assert sum(path.stat().st_size for path in files) < 1e6
    for path in files:
        keys = records.keys_in(path)
        known = {records.key_of(one) for one in FIGURES[path.stem].rows(Plan("standard"))}
        assert set(keys) == known and len(keys) == len(set(keys))


def test_the_best_evaluations_of_agents_are_kept():
    with (records.FOLDER / "offline-table.csv").open(newline="") as file:
        agents = list(csv.DictReader(file))
    gains = []
    for agent in agents:
        real, imagined = (json.loads(agent[f"{kind}_returns"]) for kind in ("real", "imagined"))
        assert len(real) == len(imagined) >= 30
        gains.append(float(agent["best_return"]) - float(agent["return"]))
    assert len(agents) == 72
    assert statistics.median(gains) > 0  # the policy with the best real evaluation is better


def test_numbers_come_back_as_they_were(tmp_path: Path):
    values = {"r2_1": 0.123456789, "r2_2": -math.inf, "none": None, "nan": math.nan,
              "count": 3, "curve": [1.5, None], "word": "text"}  # fmt: skip
    stored = {row(): Record(values, {"fit": 12.3}, "a, machine", "abc")}
    records.save(tmp_path / "one.csv", stored)
    found = records.load("one", [row(), row(seed=1), row(horizon=50)], tmp_path)
    assert list(found) == [row()]  # neither another seed's nor with other settings
    record = found[row()]
    assert record.values == {**values, "r2_1": 0.12345679, "nan": None}
    assert (record.seconds, record.machine, record.revision) == ({"fit": 12.3}, "a, machine", "abc")


def test_rows_are_added_and_replaced(tmp_path: Path):
    path = tmp_path / "one.csv"
    for seed, value in ((0, 1), (1, 2), (0, 3)):
        new = {row(seed): Record({"value": value, f"value_{seed}": value}, {"fit": None})}
        records.save(path, new, keep=True)
    found = records.load("one", [row(0), row(1)], tmp_path)
    assert [record.values["value"] for record in found.values()] == [3, 2]
    assert found[row(0)].seconds == {"fit": None}
    records.save(path, {row(5): Record({}, {})})
    assert [key[2] for key in records.keys_in(path)] == ["5"]
    assert records.load("none", [row()], tmp_path) == {}
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FarstepError, match=r"one\.csv"):
        records.load("one", [row()], tmp_path)


def test_records_of_other_data_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    records.save(tmp_path / "one.csv", {row(): Record({}, {})})
    assert records.load("one", [row()], tmp_path)
    monkeypatch.setattr(records, "data_fingerprint", lambda _: "of other data")
    assert not records.load("one", [row()], tmp_path)
