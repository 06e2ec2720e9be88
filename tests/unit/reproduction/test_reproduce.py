"""The command: rows are computed once, written, recorded, and shown on one page."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farstep.errors import FarstepError
from farstep.plotting.charts import Chart, Line, Panel, Table
from farstep.training.config import fit_config
from farstep.workflows.runs import Run, Store
from reproduction import records, reproduce
from reproduction.__main__ import main
from reproduction.estimate import Job, estimate, makespan
from reproduction.figure import Drawing, Figure, Plan, Results, Row, Values
from reproduction.report import models_to_draw, timings
from reproduction.runs import ModelFit, OfflineAgent, agent_seconds


@dataclass(frozen=True)
class Square(Run):
    """A run that squares its number."""

    number: int

    kind: ClassVar[str] = "square"
    computed: ClassVar[list[int]] = []

    @property
    def usual_seconds(self) -> float:
        return 3600.0

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        del directory, store
        self.computed.append(self.number)
        return {"square": self.number**2}


@dataclass(frozen=True)
class Squares(Figure):
    """A figure of as many squares as there are seeds."""

    numbers: tuple[int, ...] = field(default=(3,))

    def rows(self, plan: Plan) -> list[Row]:
        return [
            Row("none", f"n = {number}", seed, Square(number + seed))
            for number in self.numbers
            for seed in range(plan.seeds or 2)
        ]

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        return dict(results[row.run])

    def draw(self, plan: Plan, values: Values) -> Drawing:
        del plan
        squares = [columns["square"] for columns in values.values()]
        chart = Chart("squares", "Squares", [Panel("", [Line("n²", squares, squares)])])
        table = Table("Squares", ["n²"], [[str(value)] for value in squares])
        return Drawing([chart], tables={"group/all": table}, notes=["A note."])


def sweep_here(
    runs: Sequence[Run], out: Path, workers: int, ray: str | None
) -> dict[Run, dict[str, Any]]:
    """Compute runs without worker processes."""
    assert (workers, ray) == (1, None)
    return {run: Store(out).run(run) for run in runs}


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Figure]:
    """Put two figures in the place of the paper's, and an empty folder in that of its records."""
    known: dict[str, Figure] = {
        "squares": Squares("squares", "some squares"),
        "more": Squares("more", "more squares", (4, 7)),
    }
    monkeypatch.setattr(reproduce, "_PAPER", tuple(known.values()))
    monkeypatch.setattr(reproduce, "FIGURES", known)
    monkeypatch.setattr("reproduction.estimate.FIGURES", known)
    monkeypatch.setattr(reproduce, "sweep", sweep_here)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "records")
    monkeypatch.setattr(records.load, "__defaults__", (tmp_path / "records",))
    Square.computed.clear()
    return known


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `python -m reproduction` in this process: its code, output and errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["reproduction", *map(str, arguments), "--workers", "1"])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_all_is_computed_once_and_drawn_on_one_page(
    figures: dict[str, Figure], command: Callable, tmp_path: Path
):
    out = tmp_path / "out"
    code, printed, error = command("all", "--preset", "quick", "--out", out)
    assert code == 0, error
    assert "5 of 5 run(s)" in printed  # 3, 4, 5, 7, 8: the number 4 is in both
    assert sorted(Square.computed) == [3, 4, 5, 7, 8]
    assert "QUICK" in printed and "A note." in printed and str(out / "report.html") in printed
    for name in figures:
        assert (out / name / "squares.png").stat().st_size > 1000
    table = "| n² |\n| --- |\n| 9 |\n| 16 |\n"
    assert (out / "squares" / "all.md").read_text() == table
    assert len(records.keys_in(out / "more" / "rows.csv")) == 4
    page = (out / "report.html").read_text()
    for part in (
        'id="squares"',
        'id="more"',
        'id="timings"',
        "some squares",
        "QUICK",
        "Seeds: 0, 1",
    ):
        assert part in page
    assert f"python -m reproduction squares --preset quick --out {out}" in page
    code, printed, _ = command("squares", "--preset", "quick", "--out", out)
    assert (code, len(Square.computed)) == (0, 5)
    assert "0 of 2 run(s)" in printed


def test_recorded_rows_are_not_computed_again(
    figures: dict[str, Figure], command: Callable, tmp_path: Path
):
    first, second, copied = tmp_path / "first", tmp_path / "second", tmp_path / "docs"
    assert command("squares", "--out", first, "--record")[0] == 0
    assert (records.FOLDER / "squares.csv").exists()
    code, printed, _ = command("squares", "--out", second, "--figures", copied)
    assert (code, sorted(Square.computed)) == (0, [3, 4])
    assert "0 of 2 run(s)" in printed and not (second / "runs").exists()
    assert "From recorded rows" in (second / "report.html").read_text()
    assert "From recorded rows" not in (first / "report.html").read_text()
    assert sorted(path.name for path in (copied / "squares").iterdir()) == ["all.md", "squares.png"]
    command("squares", "--seeds", 3, "--out", second, "--record")  # only what is new
    assert sorted(Square.computed) == [3, 4, 5]
    assert len(records.keys_in(records.FOLDER / "squares.csv")) == 3
    columns = (records.FOLDER / "squares.csv").read_text().splitlines()[0]
    assert columns == "data,model,seed,settings,data_fingerprint,square,seconds,machine,revision"


def test_a_dry_run_computes_nothing(figures: dict[str, Figure], command: Callable, tmp_path: Path):
    command("squares", "--seeds", 1, "--out", tmp_path / "other", "--record")
    Square.computed.clear()
    code, printed, error = command("all", "--seeds", 2, "--dry-run", "--out", tmp_path / "out")
    assert code == 0, error
    assert not Square.computed and not (tmp_path / "out").exists()
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line.split()}
    assert rows["squares"] == ["2", "1"] and rows["more"] == ["4", "0"]
    assert rows["square"][:2] == ["5", "4"]


def test_workers_and_cluster_reach_the_sweep(
    figures: dict[str, Figure], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def sweep(runs: Sequence[Run], out: Path, workers: int, ray: str | None) -> None:
        raise FarstepError(f"{len(runs)} runs, {workers} workers, {ray}")

    monkeypatch.setattr(reproduce, "sweep", sweep)
    with pytest.raises(FarstepError, match=r"2 runs, 3 workers, ray://head:1"):
        reproduce.reproduce("squares", tmp_path, Plan("quick"), workers=3, ray="ray://head:1")


def test_wrong_arguments_are_one_line(
    figures: dict[str, Figure], command: Callable, tmp_path: Path
):
    for arguments, named in ((("square",), "squares"), (("squares", "--seeds", 0), "seeds")):
        code, _, error = command(*arguments, "--out", tmp_path / "out")
        assert (code, len(error.splitlines())) == (2, 1)
        assert named in error
    assert not (tmp_path / "out").exists()


def test_the_estimate_uses_recorded_and_finished_times(
    figures: dict[str, Figure], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    plan = Plan("quick", seeds=1)
    found = estimate([figures["squares"]], tmp_path, plan)
    assert (found.measured, found.hours(1), found.hours(2)) == (0, 1.0, 1.0)
    row = figures["squares"].rows(plan)[0]
    records.save(records.FOLDER / "squares.csv", {row: records.Record({}, {"square": 7200.0})})
    assert estimate([figures["squares"]], tmp_path, plan).missing == {}
    again = estimate([figures["squares"]], tmp_path, plan, recorded=False)
    assert (again.measured, again.hours(1)) == (1, 2.0)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sets(st.integers(0, 20))), min_size=1, max_size=12),
    st.integers(1, 5),
)
def test_the_makespan_keeps_grahams_bound(items: list[tuple[int, set[int]]], workers: int):
    jobs = [
        Job(float(seconds), tuple(one for one in after if one < number))
        for number, (seconds, after) in enumerate(items)
    ]
    ends: list[float] = []
    for job in jobs:  # the longest chain of needs
        ends.append(job.seconds + max((ends[number] for number in job.after), default=0.0))
    work, longest = sum(job.seconds for job in jobs), max(ends)
    found = makespan(jobs, workers)
    assert max(longest, work / workers) <= found <= longest + work / workers
    assert makespan(jobs, 1) == work


def test_a_run_starts_as_soon_as_its_needs_are_done():
    jobs = [Job(1.0), Job(5.0, after=(0,)), Job(2.0), Job(2.0)]
    assert makespan(jobs, 2) == 6.0  # the second job starts before the third and fourth
    with pytest.raises(FarstepError, match="workers"):
        makespan(jobs, 0)


def test_times_stand_beside_the_expected_ones():
    table = timings({Square(1): 1800.0, Square(2): 5400.0, Square(3): None})
    assert table.rows == [["square", "2", "3600", "2.00", "1.00"]]


def test_models_of_one_dataset_and_several_horizons_are_drawn():
    def fit(data: str, **settings: Any) -> ModelFit:
        return ModelFit(data, fit_config("paper", **settings))

    one, four, ten = fit("b"), fit("b", horizon=4), fit("b", horizon=10)
    others = [fit("a"), fit("b", seed=1), fit("b", fixed_horizon=2)]
    found = models_to_draw([others[0], ten, *others[1:], four, one, fit("b", horizon=50)])
    assert list(found.values()) == [one, four, ten]
    assert models_to_draw([]) == {}


def test_an_agent_needs_its_model_and_larger_agents_take_longer():
    runs = [row.run for row in reproduce.FIGURES["demo"].rows(Plan("quick"))]
    agents = [run for run in runs if isinstance(run, OfflineAgent)]
    assert [run.needs for run in agents] == [(run.fit,) for run in agents]
    assert agents[0].usual_seconds == agent_seconds(agents[0].agent) > 20
