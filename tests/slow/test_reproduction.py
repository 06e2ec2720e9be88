"""Figures of tiny models and agents, computed from beginning to end."""

import dataclasses
from pathlib import Path

import pytest

from farstep import AgentConfig, ModelEnvConfig
from farstep.training.config import fit_config
from reproduction import iterated_curves, offline_table, r2_figure, return_r2
from reproduction.figure import Plan
from reproduction.r2_figure import R2Figure, one_chart_each
from reproduction.report import report
from reproduction.reproduce import FIGURES, reproduce

TINY = fit_config("paper", width=4, depth=1, batch_size=256)
MODELS = {"h = 1": dataclasses.replace(TINY, target="delta", epochs=1)}
AGENT = AgentConfig(steps=200, net_arch=(4,), learning_starts=50)


def test_models_are_fitted_evaluated_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    models = {"h = 1": TINY, "h = 5": dataclasses.replace(TINY, fixed_horizon=5)}
    tiny = R2Figure("tiny", "a test", ("random",), models, one_chart_each("Tiny"), horizon=10)
    monkeypatch.setitem(FIGURES, "tiny", tiny)
    monkeypatch.setitem(r2_figure.BUDGETS, "quick", r2_figure.Budget(epochs=1, seeds=(0, 1)))
    done = reproduce("tiny", tmp_path, Plan("quick"), workers=2)
    assert done[0].computed
    rows = done[0].drawing.tables["cartpole-swingup/random"].rows
    assert [row[:2] for row in rows] == [["h = 1", "2"], ["h = 5", "2"], ["oracle", "1"]]
    assert rows[1][2] == "–"  # a model of five steps has no R² at one
    page = report(done, tmp_path).read_text()
    for name in ("rollouts", "chart-tiny-random", "chart-example_rollouts", "timings"):
        assert f'id="{name}"' in page
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/result.json")}
    assert len(stored) == 5
    again = reproduce("tiny", tmp_path, Plan("quick"))
    assert again[0].drawing.tables == done[0].drawing.tables
    assert {path: path.stat().st_mtime_ns for path in stored} == stored


def test_agents_are_trained_in_models_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    branched = ModelEnvConfig(initial_states="any", max_episode_steps=20)
    tiny = offline_table.Budget((0,), ("random",), 1, 50, AGENT, AGENT, branched)
    monkeypatch.setitem(offline_table.BUDGETS, "quick", tiny)
    monkeypatch.setattr(offline_table, "models", lambda _: dict(MODELS))
    row = offline_table.agent_rows(Plan("quick"))[0]
    (done,) = reproduce("return-r2", tmp_path, Plan("quick"))
    assert list(done.records) == offline_table.agent_rows(Plan("quick"))
    values = done.records[row].values
    assert set(values) == {"return", *(f"r2_{horizon}" for horizon in return_r2.HORIZONS)}
    assert set(done.records[row].seconds) == {"offline", "fit"}


def test_loops_are_run_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    agent = dataclasses.replace(AGENT, eval_episodes=0)
    tiny = iterated_curves.Budget(1, (0,), ("Pendulum-v1",), 1, agent, "none", ModelEnvConfig())
    monkeypatch.setitem(iterated_curves.BUDGETS, "quick", tiny)
    monkeypatch.setattr(iterated_curves, "PROFILES", {2: "decay:0.9"})
    (done,) = reproduce("iterated-curves", tmp_path, Plan("quick"))
    assert done.drawing.tables["Pendulum-v1"].rows[0][0] == "h = 2, decay 0.9"
    (record,) = done.records.values()
    assert set(record.values) == {"return_1", "imagined_return_1"}
    assert "QUICK" in done.drawing.notes[0]
    (again,) = reproduce("iterated-curves", tmp_path, Plan("quick"))
    assert again.drawing.tables == done.drawing.tables
