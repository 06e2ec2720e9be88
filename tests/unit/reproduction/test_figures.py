"""Every figure is drawn in every preset, and its settings are the paper's."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import farstep as fs
from farstep.errors import DivergedError, FarstepError
from farstep.model_env.config import PRESETS as ENV_PRESETS
from farstep.storage.files import locked
from farstep.storage.fingerprint import plain
from farstep.training.config import fit_config
from farstep.workflows.runs import Run, Store
from farstep.workflows.tune import SPACE, Tuned
from reproduction import demo, iterated_curves, offline_table, r2_figure, records, search
from reproduction.figure import PRESETS, Drawing, Figure, Plan, Row, describe_env
from reproduction.r2_figure import R2Figure
from reproduction.records import Record
from reproduction.reproduce import FIGURES, figures_named
from reproduction.runs import PAPER, IteratedLoop, ModelFit, OfflineAgent, OracleRollout, step_cost

R2_FIGURES = {name: figure for name, figure in FIGURES.items() if isinstance(figure, R2Figure)}
LINES = {"search": 2, "demo": 3}
"""Lines of these figures, at least; the others have four."""


def result_of(run: Run) -> dict[str, Any]:
    """Return a plausible result without computing anything."""
    if isinstance(run, ModelFit):
        return {"r2": [0.5] * (run.horizon // run.config.fixed_horizon)}
    if isinstance(run, OracleRollout):
        return {"r2": [1.0] * run.horizon}
    if isinstance(run, OfflineAgent):
        value = 100.0 * run.fit.config.horizon + run.fit.config.seed
        row = {"steps": 10.0, "seconds": 1.0, "real_return": value, "imagined_return": 1.0}
        return {"return": value, "best_return": value, "imagined_return": 1.0, "curve": [row]}
    if isinstance(run, search.Search):
        settings = {name: getattr(PAPER, name) for name in SPACE}
        values = [None, *(0.1 * n for n in range(1, run.trials))]
        return {"trials": [{"value": value, "settings": settings} for value in values]}
    if isinstance(run, search.FixedSettings):
        return {"value": 0.1}
    assert isinstance(run, IteratedLoop)
    returns = [10.0 * number for number in range(run.episodes)]
    return {"returns": returns, "imagined_returns": returns}


def drawn(
    figure: Figure, plan: Plan, results: Mapping[Run, dict[str, Any]] | None = None
) -> Drawing:
    """Draw a figure from made-up results, where none are given."""
    values = {}
    for row in figure.rows(plan):
        found = {run: (results or {}).get(run, result_of(run)) for run in (row.run, *row.also)}
        values[row] = figure.values(row, found)
    return figure.draw(plan, values)


CASES = {
    f"{name}-{preset}": (figure, preset)
    for name, figure in FIGURES.items()
    for preset in PRESETS
    if preset == "paper" or figure.rows(Plan(preset))  # without runs all presets are the same
}


@pytest.mark.parametrize(("figure", "preset"), CASES.values(), ids=list(CASES))
def test_every_figure_is_drawn_in_every_preset(figure: Figure, preset: str, tmp_path: Path):
    plan = Plan(preset, seeds=2)
    rows = figure.rows(plan)
    assert len(set(rows)) == len(rows)
    stored = {}
    for row in rows:
        runs = (row.run, *row.also)
        values = figure.values(row, {run: result_of(run) for run in runs})
        stored[row] = Record(values, {run.kind: 1.0 for run in runs}, "a machine", "a revision")
    records.save(tmp_path / f"{figure.name}.csv", stored)
    found = records.load(figure.name, rows, tmp_path) if rows else {}
    assert len(found) == len(rows)  # each row is told from the others
    drawing = figure.draw(plan, {row: record.values for row, record in found.items()})
    assert drawing.charts or drawing.pictures
    assert not rows or "seed" in drawing.notes[0]
    for chart in drawing.charts:
        assert len(chart.legend) >= LINES.get(figure.name, 4)
        assert figure.name not in R2_FIGURES or "oracle" in chart.legend
    for table in drawing.tables.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_the_settings_are_those_of_the_paper():
    assert set(R2_FIGURES) == {"fixed-horizon", "alpha-study", "profile-r2", "dataset-r2"}
    for name, figure in R2_FIGURES.items():
        for config in figure.models.values():
            target = "delta" if name == "dataset-r2" else "next"
            assert (config.target, config.loss) == (target, "mse")
            assert figure.horizon % config.fixed_horizon == 0
    spans = [config.fixed_horizon for config in R2_FIGURES["fixed-horizon"].models.values()]
    assert spans == [1, 2, 4, 10, 50, 100]
    profiles = {(c.horizon, c.weights) for c in R2_FIGURES["profile-r2"].models.values()}
    assert {(2, "decay:0.9"), (4, "decay:0.75"), (10, "decay:0.3"), (1, "uniform")} <= profiles
    assert len(r2_figure.BUDGETS["paper"].seeds) == 3
    loops = [row.run for row in FIGURES["iterated-curves"].rows(Plan("paper"))]
    assert all(isinstance(loop, IteratedLoop) for loop in loops)
    found = {(loop.episodes, loop.agent.steps, loop.fit.target) for loop in loops}  # pyright: ignore[reportAttributeAccessIssue]
    assert found == {(50, 500_000, "delta")}
    assert len(loops) == 2 * 4 * 3  # systems, horizons, seeds


REFERENCES = {
    "fit": (PAPER, {
        "horizon": 1, "weights": "uniform", "loss": "mse", "loss_scale": "observation",
        "propagation": "mean", "truncate_gradient": None, "observer_steps": 0, "model": "network",
        "target": "next", "fixed_horizon": 1, "width": 256, "depth": 2, "activation": "tanh",
        "normalisation": "batch", "dropout": 0.1, "residual": False, "fixed_std": 0.1,
        "angles": [], "bounds": None, "model_steps": None, "batch_size": 64, "learning_rate": 1e-3,
        "schedule": "constant", "max_grad_norm": None, "weight_decay": 0.0, "ema_decay": None,
        "input_noise": 0.0, "rematerialise": False, "validation_metric": "objective",
        "r2_horizon": 50, "patience": 20, "ensemble_size": 1, "bootstrap": True,
        "ensemble_mode": "mean", "seed": 0,
    }),
    "agent": (fs.AgentConfig(), {
        "algorithm": "sac", "steps": 500_000, "num_envs": 1, "gradient_steps": 1,
        "learning_starts": 100, "batch_size": 256, "buffer_size": 1_000_000, "learning_rate": 3e-4,
        "gamma": 0.99, "tau": 0.005, "ent_coef": None, "target_entropy": None,
        "net_arch": [256, 256], "ema_decay": None, "keep": "last", "eval_every": 10_000,
        "eval_episodes": 1,
    }),
    "env": (fs.ModelEnvConfig(), {
        "initial_states": "first", "max_episode_steps": None, "propagation": "mean",
        "ensemble_mode": None, "reward": None, "uncertainty_penalty": 0.0,
        "uncertainty": "disagreement", "bounds": 0.0, "out_of_bounds": "clip",
        "observation_noise": 0.0, "project_angles": True,
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_records_name_their_differences_from_fixed_settings(name: str):
    """If one of these values changes, records of the old value would pass for the new one."""
    config, expected = REFERENCES[name]
    assert plain(config) | expected == plain(config)


def test_all_is_every_figure_of_the_paper_and_runs_are_shared():
    names = [figure.name for figure in figures_named("all")]
    assert set(FIGURES) - set(names) == {"demo"}
    assert figures_named(["search", "all"])[0].name == "search"
    assert len(figures_named(["search", "all", "search"])) == len(names)
    table, against = (
        {run for row in FIGURES[name].rows(Plan("standard")) for run in (row.run, *row.also)}
        for name in ("offline-table", "return-r2")
    )
    assert table < against
    fits = {row.run for row in FIGURES["dataset-r2"].rows(Plan("standard"))}
    assert len(fits & against) == 4 * 4 * 3  # the paper's models: datasets, horizons, seeds
    for wrong in ("alpha", []):
        with pytest.raises(FarstepError, match="alpha-study"):
            figures_named(wrong)
    with pytest.raises(FarstepError, match="preset"):
        Plan("papers")
    with pytest.raises(FarstepError, match="seeds"):
        Plan("paper", seeds=0)


def test_a_dataset_that_does_not_exist_is_an_error(tmp_path: Path):
    figure = dataclasses.replace(R2_FIGURES["alpha-study"], datasets=("unheard-of",))
    with pytest.raises(FarstepError, match="unheard-of"):
        Store(tmp_path).run(figure.rows(Plan("paper"))[0].run)


def test_the_models_of_the_demo_differ_only_in_the_objective():
    one, four = demo.MODELS.values()
    assert dataclasses.replace(one, horizon=4, weights="decay:0.75") == four
    assert demo.FIGURE.rows(Plan("quick")) == demo.FIGURE.rows(Plan("paper"))


def test_the_search_stands_beside_the_papers_settings_and_has_one_seed():
    figure = FIGURES["search"]
    fixed = [r.run for r in figure.rows(Plan("quick")) if isinstance(r.run, search.FixedSettings)]
    found = drawn(figure, Plan("quick"), {run: {"value": 0.15} for run in fixed})
    rows = found.tables["best"].rows
    assert [row[:2] for row in rows] == [
        ["2", "0.2000"],
        ["1", "0.1000"],
        ["the paper's", "0.1500"],
    ]
    for seeds, notes in ((None, 1), (1, 1), (5, 2)):
        assert len(drawn(figure, Plan("quick", seeds)).notes) == notes


def test_imagined_returns_stand_beside_their_difference_from_real_ones():
    figure, plan = FIGURES["offline-table"], Plan("quick")
    cells = {row[0]: row[1] for row in drawn(figure, plan).tables["imagined"].rows}
    # The agents of h = 4 earned 400 and 401, and both imagined 1.
    assert cells["h = 4, decay 0.75"] == "1 (400)"
    runs = [row.run for row in figure.rows(plan)]
    lost = {run: {**result_of(run), "imagined_return": None} for run in runs}
    assert drawn(figure, plan, lost).tables["imagined"].rows[0][1] == "–"


def test_the_recommended_models_cost_the_same_with_one_step():
    for budget in offline_table.BUDGETS.values():
        models = offline_table.models(budget)
        ours, one = models[offline_table.RECOMMENDED], models[offline_table.ONE_STEP]
        assert one.horizon == 1 and one.model_steps is not None and ours.model_steps is not None
        same = {"horizon": ours.horizon, "weights": ours.weights, "model_steps": ours.model_steps}
        assert dataclasses.replace(one, **same) == ours
        cost = ours.model_steps * step_cost(ours)
        assert one.model_steps * step_cost(one) == pytest.approx(cost, rel=0.01)


def test_a_model_or_agent_that_diverges_earns_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def diverges(*_: Any, **__: Any) -> None:
        raise DivergedError("the loss is not finite")

    class Done:
        rows = ([{"return": 7.0, "imagined_return": 8.0}],)

    def loop(*_: Any, episodes: int, **__: Any) -> Done:
        return Done() if episodes == 1 else diverges()  # pyright: ignore[reportReturnType]

    monkeypatch.setattr(fs, "fit", diverges)
    monkeypatch.setattr(fs, "iterate", loop)
    store, plan = Store(tmp_path), Plan("quick")
    for name in ("demo", "offline-table", "return-r2", "iterated-curves"):
        figure = FIGURES[name]
        first = figure.rows(plan)[0]
        runs = (first.run, *first.also)
        found = drawn(figure, plan, {run: run.compute(tmp_path, store) for run in runs})
        cells = [cell for table in found.tables.values() for row in table.rows for cell in row]
        assert cells and "nan" not in cells
    fit = ModelFit("cartpole-swingup/random", fit_config("paper", fixed_horizon=50))
    assert [float(value) for value in fit.compute(tmp_path, store)["r2"]] == [-math.inf] * 2
    looped = iterated_curves.FIGURE.rows(plan)[0].run.compute(tmp_path, store)
    assert looped == {"returns": [7.0, 0.0], "imagined_returns": [8.0, None]}


def test_a_search_runs_in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def tune(*_: Any, out: Path, **settings: Any) -> Tuned:
        with locked(out, wait=False):  # the run's own directory is locked meanwhile
            return Tuned(settings["fit"], 0.5, ({"number": 0, "value": 0.5},))

    monkeypatch.setattr(fs, "tune", tune)
    run = search.Search(("cartpole-swingup/random",), PAPER, trials=1)
    assert Store(tmp_path).run(run) == {"trials": [{"number": 0, "value": 0.5}]}
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FarstepError, match="Optuna"):
        run.check()


def test_the_notes_name_what_matters_of_a_model_environment():
    text = describe_env(ENV_PRESETS["offline"])
    for part in ("300 steps", "any recorded observation", "one member", "penalty of 20"):
        assert part in text


def test_rows_are_compared_by_their_runs():
    one, other = (Row("d", "m", 0, ModelFit("d", PAPER, horizon)) for horizon in (1, 2))
    assert one != other and records.settings_of(one.run) != records.settings_of(other.run)
