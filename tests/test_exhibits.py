"""The paper's figures: every exhibit is sound, runs are computed once, and kills lose nothing."""

import dataclasses
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve
from farstep.errors import DivergedError, FarstepError
from farstep.exhibits import demo, iterated_curves, offline_table, search
from farstep.exhibits.exhibit import PRESETS, Exhibit, Plan
from farstep.exhibits.offline_agent import OfflineAgent
from farstep.exhibits.reproduce import EXHIBITS, reproduce, what_is_missing
from farstep.exhibits.scored import AMOUNTS, Amount, ScoredExhibit
from farstep.files import locked
from farstep.fitting.config import PAPER, fit_config
from farstep.loops.iterate import IteratedSeed
from farstep.report.scores import r2_chart
from farstep.runs.run import Run
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.scored_oracle import ScoredOracle
from farstep.runs.store import Store
from farstep.runs.sweep import sweep
from farstep.tuning import SPACE, TrialFit, Tuned

TINY = fit_config("paper", epochs=1, width=4, depth=1, batch=256)


SCORED = [exhibit for exhibit in EXHIBITS.values() if isinstance(exhibit, ScoredExhibit)]


CASES = {
    f"{name}-{preset}": (exhibit, preset)
    for name, exhibit in EXHIBITS.items()
    for preset in PRESETS
    if preset == "paper" or exhibit.runs(Plan(preset))  # without runs a preset changes nothing
}


@pytest.mark.parametrize(("exhibit", "preset"), CASES.values(), ids=list(CASES))
def test_every_exhibit_shows_something_in_every_preset(exhibit: Exhibit, preset: str):
    assert exhibit.about
    plan = Plan(preset, seeds=2)
    runs = exhibit.runs(plan)
    assert len(set(runs)) == len(runs)
    shown = exhibit.show(plan, {run: _made_up(run) for run in runs})
    assert shown.charts or shown.figures
    assert bool(shown.numbers) == bool(runs)
    assert not runs or "seed" in shown.notes[0]
    for chart in shown.charts:
        assert len(chart.legend) >= {"search": 2, "demo": 3}.get(exhibit.name, 4)
    for table in shown.tables.values():
        assert {len(row) for row in table.rows} == {len(table.columns)}
    if isinstance(exhibit, ScoredExhibit):
        assert all("oracle" in chart.legend for chart in shown.charts)


def _made_up(run: Run) -> dict:
    if isinstance(run, ScoredFit):
        return {"r2": (0.5 * np.ones((run.horizon // run.config.stride, 5))).tolist()}
    if isinstance(run, ScoredOracle):
        return {"r2": np.ones((run.horizon, 5)).tolist()}
    if isinstance(run, OfflineAgent):
        value = 100.0 * run.fit.config.horizon + run.fit.config.seed
        rows: list[dict[str, float | None]] = [
            {"steps": 10.0, "seconds": 1.0, "real_return": value, "imagined_return": 1.0}
        ]
        curve = AgentCurve(rows).to_json()
        return {"return": value, "imagined_return": 1.0, "curve": curve}
    if isinstance(run, search.Search):
        settings = {name: getattr(PAPER, name) for name in SPACE}
        trials = [{"number": n, "value": 0.1 * n, "settings": settings} for n in range(3)]
        return {"value": 0.2, "trials": trials}
    if isinstance(run, TrialFit):
        return {"value": 0.1}
    assert isinstance(run, iterated_curves.IteratedLoop)
    return {"rows": [{"return": 10.0 * epoch} for epoch in range(run.loop.epochs)]}


def test_a_search_has_a_place_that_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = search.Search(("cartpole-swingup/random",), PAPER, trials=1)

    def found(*_, out: Path, **__) -> Tuned:
        with locked(out, wait=False):  # as the real one does
            return Tuned(PAPER, 0.5, ())

    monkeypatch.setattr(search, "tune", found)
    assert Store(tmp_path).run(run) == {"value": 0.5, "trials": []}


def test_what_cannot_be_computed_is_said_before_anything_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    runs = [ScoredFit("cartpole-swingup/random", TINY), *EXHIBITS["search"].runs(Plan("quick"))]
    with pytest.raises(FarstepError, match="Optuna is not installed; it is the extra tune"):
        sweep(runs, Store(tmp_path))
    assert not list(tmp_path.iterdir())


def test_what_diverges_earns_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def diverged(*_):
        raise DivergedError("the loss is not finite")

    monkeypatch.setattr(ScoredFit, "model", diverged)
    monkeypatch.setattr(IteratedSeed, "run", diverged)
    monkeypatch.setattr(IteratedSeed, "finished", lambda *_: [{"return": 7.0}])
    plan = Plan("quick")
    for name in ("demo", "offline-table", "return-r2", "iterated-curves"):
        exhibit, results = EXHIBITS[name], {}
        kind = "iterated" if name == "iterated-curves" else "offline"
        for run in exhibit.runs(plan):
            first = run.kind == kind and not any(other.kind == kind for other in results)
            results[run] = run.compute(tmp_path, Store(tmp_path)) if first else _made_up(run)
        shown = exhibit.show(plan, results)
        assert json.dumps(shown.numbers, allow_nan=False)
        assert not any(
            "nan" in cell for t in shown.tables.values() for row in t.rows for cell in row
        )
    loop = EXHIBITS["iterated-curves"].runs(plan)[0].compute(tmp_path, Store(tmp_path))
    assert [row["return"] for row in loop["rows"]] == [7.0, 0.0]
    assert loop["rows"][1]["notes"] == ["the loss is not finite"]


@pytest.mark.parametrize("exhibit", SCORED, ids=[exhibit.name for exhibit in SCORED])
def test_every_fit_of_an_exhibit_is_the_papers(exhibit: ScoredExhibit):
    for config in exhibit.cases.values():
        config.check()
        assert exhibit.horizon % config.stride == 0
        target = "delta" if exhibit.name == "dataset-r2" else "next"
        assert (config.target, config.loss) == (target, "mse")


def test_the_papers_settings_are_there():
    cases = {exhibit.name: exhibit.cases.values() for exhibit in SCORED}
    assert set(cases) == {"fixed-horizon", "alpha-study", "profile-r2", "dataset-r2"}
    assert [config.stride for config in cases["fixed-horizon"]] == [1, 2, 4, 10, 50, 100]
    profiles = {(config.horizon, config.weights) for config in cases["profile-r2"]}
    assert {(2, "decay:0.9"), (4, "decay:0.75"), (10, "decay:0.3"), (1, "uniform")} <= profiles
    assert len(AMOUNTS["paper"].seeds) >= 3
    loops = [run.loop for run in EXHIBITS["iterated-curves"].runs(Plan("paper"))]  # pyright: ignore[reportAttributeAccessIssue]
    assert {loop.fit.horizon for loop in loops} == {1, 2, 4, 10}
    assert {loop.system for loop in loops} == {"cartpole-swingup", "cartpole-swingup-noisy"}
    assert {loop.fit.target for loop in loops} == {"delta"}
    assert {loop.seed for loop in loops} == {0, 1, 2}
    assert {(loop.epochs, loop.agent.steps) for loop in loops} == {(50, 500_000)}
    for loop in loops:
        loop.check()


def test_a_reproduction_draws_says_and_keeps_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, farstep: Callable
):
    small = dataclasses.replace(TINY, target="next")
    tiny = ScoredExhibit(
        name="tiny",
        about="a test",
        datasets=("random",),
        cases={"h = 1": small, "direct 5": dataclasses.replace(small, stride=5)},
        draw=lambda scores: [r2_chart(found, name=data) for data, found in scores.items()],
        horizon=10,
    )
    monkeypatch.setitem(EXHIBITS, "tiny", tiny)
    monkeypatch.setitem(AMOUNTS, "quick", Amount(epochs=1, seeds=(0, 1)))
    command = ("reproduce", "tiny", "--preset", "quick", "--workers", 2)
    done = farstep(*command, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert re.match(r"5 of 5 run\(s\) are to be computed: (about|less) .* with 2 w", done.out)
    assert "QUICK" in done.out
    assert "oracle" in done.out
    page = (tmp_path / "out" / "tiny" / "quick" / "report.html").read_text()
    assert "(quick)" in page
    assert "QUICK preset" in page
    scores = json.loads((tmp_path / "out" / "tiny" / "quick" / "scores.json").read_text())
    assert [one["seeds"] for one in scores["cartpole-swingup/random"]] == [2, 2, 1]
    runs = sorted((tmp_path / "out" / "runs").glob("*/run.json"))
    assert len(runs) == 5
    stamps = [path.stat().st_mtime_ns for path in runs]
    (again,) = reproduce("tiny", tmp_path / "out", "quick")
    assert [path.stat().st_mtime_ns for path in runs] == stamps
    assert again.tables["cartpole-swingup/random"].rows[0][0] == "h = 1"


def test_unknown_names_are_said(farstep: Callable, tmp_path: Path):
    with pytest.raises(FarstepError, match="Did you mean 'alpha-study'"):
        reproduce("alpha", tmp_path)
    with pytest.raises(FarstepError, match="there is no preset 'papers'"):
        reproduce("alpha-study", tmp_path, preset="papers")
    done = farstep("reproduce", "fixed", "--out", tmp_path / "out")
    assert done.code == 2
    assert "Did you mean 'fixed-horizon'" in done.err


def test_a_dataset_that_does_not_exist_has_no_stand_in(tmp_path: Path):
    exhibit = dataclasses.replace(SCORED[0], datasets=("unheard-of",))
    runs = exhibit.runs(Plan("paper"))
    assert {data for run in runs for data in run.reads} == {"cartpole-swingup/unheard-of"}
    with pytest.raises(FarstepError, match="unheard-of"):
        Store(tmp_path).run(runs[0])


def test_a_search_says_that_it_has_one_seed():
    for seeds, said in ((None, 1), (1, 1), (5, 2)):
        plan = Plan("quick", seeds)
        shown = search.EXHIBIT.show(plan, {run: _made_up(run) for run in search.EXHIBIT.runs(plan)})
        assert len(shown.notes) == said
    assert "5 seeds were asked for" in shown.notes[1]


def test_a_search_is_shown_beside_the_papers_settings_on_all_its_datasets():
    plan = Plan("standard")
    runs = search.EXHIBIT.runs(plan)
    papers = [run for run in runs if isinstance(run, TrialFit)]
    assert [run.data for run in papers] == list(runs[0].reads)
    results = {run: _made_up(run) for run in runs}
    results |= {run: {"value": 0.1 * number} for number, run in enumerate(papers)}
    assert search.EXHIBIT.show(plan, results).tables["best"].rows[-1][:2] == [
        "the paper's",
        "0.1500",
    ]


def test_loops_of_an_exhibit_are_drawn_with_their_budget_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    agent = AgentConfig(steps=200, net_arch=(4,), learning_starts=50)
    tiny = iterated_curves.Budget(1, (0,), ("Pendulum-v1",), 1, agent, "none")
    monkeypatch.setitem(iterated_curves.BUDGETS, "quick", tiny)
    monkeypatch.setattr(iterated_curves, "PROFILES", {2: "decay:0.9"})
    (done,) = reproduce("iterated-curves", tmp_path, "quick", workers=1)
    assert done.tables["Pendulum-v1"].rows[0][0] == "h = 2, decay 0.9"
    assert "at most 1 epochs a fit" in done.notes[1]
    assert "QUICK" in done.notes[0]
    kept = list((tmp_path / "runs").glob("iterated-*/run.json"))
    assert len(kept) == 1
    stamp = kept[0].stat().st_mtime_ns
    (again,) = reproduce("iterated-curves", tmp_path, "quick", workers=1)
    assert again.tables == done.tables
    assert kept[0].stat().st_mtime_ns == stamp


def test_the_datasets_are_drawn_with_their_numbers(tmp_path: Path, farstep: Callable):
    for name, columns in (("dataset-returns", 7), ("dataset-states", 6)):
        done = farstep("reproduce", name, "--out", tmp_path)
        assert done.code == 0, done.err
        assert done.out.startswith("0 of 0 run(s) are to be computed\n")
        place = tmp_path / name / "paper"
        stem = name.split("-")[1]
        assert (place / f"{stem}.png").stat().st_size > 10_000
        assert "data:image/png;base64," in (place / "report.html").read_text()
        table = (place / f"{stem}.md").read_text()
        assert "| random |" in table
        assert table.splitlines()[0].count("|") == columns + 1


def test_every_run_of_the_committed_exhibits_is_recorded():
    """So that drawing them again fits nothing, also after settings were added to a fit."""
    store = Store(Path("nowhere"), (Path(__file__).parents[1] / "results",))
    for exhibit in (one for one in SCORED if one.name != "dataset-r2"):
        for line in exhibit.cases:
            for seed in AMOUNTS["paper"].seeds:
                run = exhibit.run_of("cartpole-swingup/random", line, seed, AMOUNTS["paper"])
                assert store.record(run) is not None, (exhibit.name, line)


def test_a_dry_run_says_what_is_there_and_what_it_would_take(tmp_path: Path, farstep: Callable):
    done = farstep("reproduce", "weight-profiles", "iterated-curves", "--preset", "quick",
                   "--seeds", 1, "--dry-run", "--out", tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    assert not list(tmp_path.iterdir())
    rows = [line.split() for line in done.out.splitlines() if "iterated" in line]
    assert rows[0] == ["iterated-curves", "4", "0"]
    assert rows[1][:4] == ["iterated", "4", "0", "4"]
    assert re.search(r"about \d+ minute\(s\) with \d+ worker\(s\);", done.out)
    done = farstep("reproduce", "weight-profiles", "--dry-run", "--workers", 0, "--out", tmp_path)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert "workers must be a whole number of at least 1" in done.err


def test_all_ends_in_one_page(tmp_path: Path, farstep: Callable, monkeypatch: pytest.MonkeyPatch):
    one = EXHIBITS["weight-profiles"]
    monkeypatch.setattr("farstep.exhibits.reproduce._PAPERS", (one,))
    monkeypatch.setattr("farstep.exhibits.whole_report.EXHIBITS", {one.name: one})
    done = farstep("reproduce", "all", "--preset", "quick", "--out", tmp_path)
    assert done.code == 0, done.err
    assert f"wrote {tmp_path / 'report.html'}" in done.out
    assert '<h2 id="weight-profiles">' in (tmp_path / "report.html").read_text()


def test_all_is_every_exhibit_and_shares_its_runs():
    found = what_is_missing("all", Path("nowhere"), "standard")
    table, against = EXHIBITS["offline-table"], EXHIBITS["return-r2"]
    assert set(table.runs(Plan("standard"))) <= set(against.runs(Plan("standard")))
    assert found.total["offline"] == len(table.runs(Plan("standard")))
    kinds = {"fit", "oracle", "offline", "iterated", "search", "trial"}
    assert set(found.total) == kinds


def test_the_address_of_a_cluster_reaches_the_sweep(farstep: Callable, tmp_path: Path):
    pytest.importorskip("ray")
    done = farstep("reproduce", "demo", "--ray", "127.0.0.1:1", "--out", tmp_path / "out")
    assert done.code == 2
    assert "there is no Ray cluster at 127.0.0.1:1" in done.err


def test_the_demo_differs_in_the_objective_alone():
    one, four = demo.MODELS.values()
    assert dataclasses.replace(one, horizon=4, weights="decay:0.75") == four
    assert demo.EXHIBIT.runs(Plan("quick")) == demo.EXHIBIT.runs(Plan("paper"))


def test_what_was_promised_stands_beside_what_was_earned():
    table, plan = EXHIBITS["offline-table"], Plan("quick")
    shown = table.show(plan, {run: _made_up(run) for run in table.runs(plan)})
    promised = {row[0]: row[1] for row in shown.tables["promised"].rows}
    # Seeds 0 and 1 of h = 4 earned 400 and 401, and were promised 1 each.
    assert promised["h = 4, decay 0.75"] == "1 (400)"
    diverged = {run: {**_made_up(run), "imagined_return": None} for run in table.runs(plan)}
    assert table.show(plan, diverged).tables["promised"].rows[0][1] == "–"


def test_our_recipe_with_one_step_costs_what_it_costs_with_its_own_horizon():
    for budget in offline_table.BUDGETS.values():
        models = offline_table.models(budget)
        ours, one = models[offline_table.RECOMMENDED], models[offline_table.ONE_STEP]
        same = dataclasses.replace(
            one, horizon=ours.horizon, weights=ours.weights, compositions=ours.compositions
        )
        assert same == ours and one.horizon == 1
        cost, other = (m.compositions * m.composition_cost for m in (ours, one))
        assert other == pytest.approx(cost, rel=0.01)
