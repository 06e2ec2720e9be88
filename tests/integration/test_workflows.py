"""One tiny run of every workflow: what is stored, what is read again, and what is refused."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cart
import cart_env
from farstep.agents.model_env_trainer import train_steps
from farstep.agents.real_return import imagined_returns
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.models.model import load_model
from farstep.systems.network_policy import load_policy
from farstep.training.config import fit_config
from farstep.workflows import offline as offline_module
from farstep.workflows.iterate import Iterated, iterate, row_line
from farstep.workflows.offline import Offline, offline
from farstep.workflows.runs import Store
from farstep.workflows.tune import TrialFit, tune

pytestmark = pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")  # tiny models drift

FIT: dict[str, Any] = {**cart.TINY_FIT, "preset": "default"}
AGENT = dataclasses.replace(cart.TINY, eval_episodes=1)
SETTINGS: dict[str, Any] = {
    "fit": FIT,
    "agent": AGENT,
    "system": "cart_env:SYSTEM",
    "seeds": 1,
    "workers": 1,
}
LOOP: dict[str, Any] = {
    "fit": FIT,
    "agent": cart.TINY,
    "seeds": 1,
    "workers": 1,
    "warm_start": "both",
}

AGENT_PROGRAMS = (train_steps, imagined_returns)


@pytest.fixture(scope="module")
def log() -> Episodes:
    return cart.data(10)


@pytest.fixture(scope="module")
def offline_run(log: Episodes, tmp_path_factory: pytest.TempPathFactory) -> tuple[Offline, Path]:
    folder = tmp_path_factory.mktemp("offline")
    return offline(log, out=folder, **{**SETTINGS, "seeds": 2}), folder


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Iterated, Path]:
    folder = tmp_path_factory.mktemp("iterate")
    return iterate("cart_env:SYSTEM", out=folder, episodes=2, **LOOP), folder


def test_offline_has_a_result_for_each_seed(offline_run: tuple[Offline, Path], log: Episodes):
    done, folder = offline_run
    assert [result["seed"] for result in done.results] == [0, 1]
    returns = np.array([result["return"] for result in done.results])
    assert np.isfinite(returns).all() and returns[0] != returns[1]
    mean, half = done.means()["return"]
    assert mean == pytest.approx(returns.mean())
    # Student's 90 % interval of two: 6.314 standard errors.
    assert half == pytest.approx(6.3138 * returns.std(ddof=1) / np.sqrt(2), rel=1e-3)
    assert {"imagined return", "best return", "R²(1)", "R²(10)"} <= done.means().keys()
    assert len(done.row(done.results[0])) == len(done.means())
    assert log.returns is not None
    assert done.data_return == pytest.approx(log.returns.mean(), rel=1e-4)
    assert done.curves[0].column("steps").tolist() == [40, 80, 120]
    assert "2 seed(s)" in done.about
    for name in ("model/model.safetensors", "agent/policy.safetensors", "agent/best.safetensors"):
        assert (folder / "seed-0" / name).exists()


def test_offline_reads_finished_stages(
    offline_run: tuple[Offline, Path], log: Episodes, tmp_path: Path
):
    done, folder = offline_run
    shutil.copytree(folder, tmp_path / "copy")
    policy = tmp_path / "copy" / "seed-0" / "agent" / "policy.safetensors"
    time = policy.stat().st_mtime_ns
    (tmp_path / "copy" / "seed-0" / "result.json").unlink()
    again = offline(log, out=tmp_path / "copy", **SETTINGS)
    for name in ("return", "imagined_return", "r2", "curve"):
        assert again.results[0][name] == done.results[0][name]
    assert policy.stat().st_mtime_ns == time


def test_offline_refuses_other_settings_or_data_without_force(
    offline_run: tuple[Offline, Path], log: Episodes, tmp_path: Path
):
    done, folder = offline_run
    shutil.copytree(folder, tmp_path / "copy")
    (stored,) = (tmp_path / "copy").glob("*.npz")
    with pytest.raises(FarstepError, match=r"fit\.horizon 2"):
        offline(log, out=tmp_path / "copy", **{**SETTINGS, "fit": {**FIT, "horizon": 3}})
    with pytest.raises(FarstepError, match="force"):
        offline(log.take(range(9)), out=tmp_path / "copy", **SETTINGS)
    # Workers of the first call may still read its data.
    assert read_dataset(stored).equals(log)
    assert len(list((tmp_path / "copy").glob("*.npz"))) == 2
    other = {**SETTINGS, "fit": {**FIT, "weights": "decay:0.5"}}
    found = offline(log, out=tmp_path / "copy", force=True, **other)
    assert found.results[0]["r2"] != done.results[0]["r2"]
    assert "decay:0.5" in found.about
    config = json.loads((tmp_path / "copy" / "seed-0" / "config.json").read_text())
    assert config["config"]["fit"]["weights"] == "decay:0.5"
    assert load_model(tmp_path / "copy" / "seed-0" / "model").config["weights"] == "decay:0.5"


def test_offline_without_a_real_system_and_with_a_learned_reward(log: Episodes, tmp_path: Path):
    logged = {**SETTINGS, "system": "cart_env:LOGGED", "env": {"reward": "learned"}}
    done = offline(log, out=tmp_path, **logged)
    (result,) = done.results
    assert result["return"] is result["best_return"] is None
    assert np.isfinite(result["imagined_return"])
    assert next(iter(done.means())) == "imagined return"
    assert done.notes == []  # the learned reward was asked for


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"seeds": 0}, "seeds"),
        ({"system": "cart:CART"}, r"'Pendulum-v1'.*env_id=None"),
        ({"system": "cartpol"}, "'cartpole-swingup'"),
        ({"fit": {**FIT, "fixed_horizon": 2}}, "fixed_horizon"),
        ({"agent": {"algorithm": "sb3:NONE"}}, "'sb3:NONE'"),
        ({"env": {"uncertainty_penalty": 1.0}}, "ensemble"),
    ],
)
def test_offline_fails_before_anything_is_fitted(
    changes: dict, name: str, log: Episodes, tmp_path: Path
):
    with pytest.raises(FarstepError, match=name):
        offline(log, out=tmp_path / "out", **{**SETTINGS, **changes})
    assert not list(tmp_path.rglob("model"))


def test_unknown_rewards_are_learned_with_a_note_if_the_data_have_them(tmp_path: Path):
    unknown = dataclasses.replace(cart_env.LOGGED, reward=None)
    config = offline_module.ModelEnvConfig()
    with pytest.raises(FarstepError, match="rewards"):
        offline_module._check(cart.data(rewards=False), unknown, config)
    assert offline_module.reward_notes(config, unknown)
    assert not offline_module.reward_notes(config, cart_env.LOGGED)


def test_the_return_of_the_data_is_that_of_episodes_of_the_systems_length():
    data, config = cart.data(), offline_module.ModelEnvConfig()
    longer = dataclasses.replace(cart_env.LOGGED, max_episode_steps=40)
    ended = dataclasses.replace(data, terminated=np.array([True, False, False, False]))
    assert data.returns is not None
    mean = float(data.returns.mean())
    found = [offline_module._check(one, longer, config) for one in (ended, data)]
    assert found == pytest.approx([mean, 2 * mean], rel=1e-4)


def test_iterate_adds_one_real_episode_after_each_agent(loop: tuple[Iterated, Path]):
    done, folder = loop
    assert [row["data_episodes"] for row in done.rows[0]] == [1, 2]
    episodes = done.episodes(0)
    returns = [one.total_reward for one in episodes]
    assert len(episodes) == 3
    np.testing.assert_allclose(done.returns()[0], returns[1:], rtol=1e-6)
    for number in (0, 1):
        here = folder / "seed-0" / f"episode-{number:03}"
        assert load_model(here / "model").config["width"] == 16
        assert load_policy(here / "agent" / "policy.safetensors").system == "cart_env:SYSTEM"
    assert list((folder / "seed-0").glob("events.*"))
    assert "120 steps in 4 environment(s)" in done.about


def test_iterate_continues_and_runs_nothing_twice(
    loop: tuple[Iterated, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("farstep.workflows.iterate.drop_programs_if_many", lambda: None)
    done, folder = loop
    shutil.copytree(folder, tmp_path / "copy")
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "copy").rglob("*.safetensors")}
    programs = [program._cache_size() for program in AGENT_PROGRAMS]  # pyright: ignore
    longer = iterate("cart_env:SYSTEM", out=tmp_path / "copy", episodes=3, **{**LOOP, "show": True})
    assert longer.rows[0][:2] == done.rows[0]
    # Data that grow are padded, so that the agent is not compiled again for every episode.
    assert [program._cache_size() for program in AGENT_PROGRAMS] == programs  # pyright: ignore
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert len(longer.episodes(0)) == 4
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 and "return" in lines[0]
    for row, line in zip(longer.rows[0], lines[1:], strict=True):
        assert line.startswith(row_line(0, row).splitlines()[0])


@pytest.mark.parametrize("lost", ["result.json", "agent", "model"])
def test_iterate_repeats_what_a_kill_left_unfinished(
    loop: tuple[Iterated, Path], lost: str, tmp_path: Path
):
    """Killed between the stages of the last episode; a real episode that is stored is kept."""
    done, folder = loop
    shutil.copytree(folder, tmp_path / "killed")
    here = tmp_path / "killed" / "seed-0" / "episode-001"
    (here.parent / "result.json").unlink()
    (here / "result.json").unlink()
    if lost != "result.json":
        (here.parent / "episodes" / "000002.npz").unlink()
        shutil.rmtree(here / "agent")
    if lost == "model":
        shutil.rmtree(here / "model")
    again = iterate("cart_env:SYSTEM", out=tmp_path / "killed", episodes=2, **LOOP)
    for name in ("return", "imagined_return", "r2_10", "updates"):
        assert again.rows[0][1][name] == done.rows[0][1][name], name
    assert again.episodes(0).equals(done.episodes(0))


def test_iterate_keeps_the_real_episodes_of_other_settings(
    loop: tuple[Iterated, Path], tmp_path: Path
):
    shutil.copytree(loop[1], tmp_path / "copy")
    other = {**LOOP, "fit": {**FIT, "horizon": 1}}
    with pytest.raises(FarstepError, match=r"fit\.horizon 2"):
        iterate("cart_env:SYSTEM", out=tmp_path / "copy", episodes=1, **other)
    assert len(list((tmp_path / "copy" / "seed-0" / "episodes").glob("*.npz"))) == 3
    other = iterate("cart_env:SYSTEM", out=tmp_path / "copy", episodes=1, force=True, **other)
    assert len(other.episodes(0)) == 2
    assert not (tmp_path / "copy" / "seed-0" / "episode-001" / "result.json").exists()


def test_iterate_goes_on_after_a_real_step_fails(tmp_path: Path):
    cart_env.Failing.episodes = 0
    with pytest.warns(DataWarning) as caught:
        done = iterate("cart_env:FAILING", out=tmp_path, episodes=3, **LOOP)
    assert [len(one.actions) for one in done.episodes(0)] == [20, 8, 6, 8]
    assert not any(one.terminated for one in done.episodes(0))
    troubles = [line for row in done.rows[0] for line in row["trouble"]]
    assert ["on fire" in line or "nan" in line for line in troubles] == [True] * 3
    assert set(troubles) <= {str(one.message) for one in caught} == set(done.notes)
    assert all(line in row_line(0, row) for row in done.rows[0] for line in row["trouble"])


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"fit": {**FIT, "fixed_horizon": 2}}, "fixed_horizon"),
        ({"episodes": 0}, "episodes"),
        ({"agent": {"algorithm": "sb3:SAC"}}, "warm_start='none'"),
        ({"agent": {"eval_episodes": 5}}, "eval_episodes"),
        ({"fit": {**FIT, "weights": lambda losses: losses}}, "lambda"),
        ({"system": "cart_env:LOGGED"}, "env_id"),
        ({"fit": {"model": "linear"}, "warm_start": "both"}, "warm_start='agent'"),
        ({"fit": {**FIT, "angles": ((0, 7),)}}, "angles"),
    ],
)
def test_iterate_fails_before_anything_is_run(settings: dict, name: str, tmp_path: Path):
    with pytest.raises(FarstepError, match=name):
        iterate(out=tmp_path / "x", **{"system": "cart_env:SYSTEM", **LOOP, **settings})
    assert not (tmp_path / "x").exists()


def test_tune_fits_and_evaluates(log: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("optuna")
    rates = (1e-3, 2e-3)
    space = {"learning_rate": lambda trial: trial.suggest_categorical("learning_rate", rates)}
    monkeypatch.setattr("farstep.workflows.tune.SPACE", space)
    path = str(write_dataset(log, tmp_path / "log.npz"))
    found = tune(path, fit=FIT, out=tmp_path / "tuned", trials=2, evaluation_horizon=5, workers=1)
    assert found.config.learning_rate in rates and found.config.width == 16
    assert len(found.trials) == 2 and np.isfinite(found.value)
    run = TrialFit(path, found.config, 5)
    store = Store(tmp_path / "tuned" / "runs")
    assert store.result(run) == {"value": found.value}
    model = load_model(store.directory(run) / "model")
    assert model.config["learning_rate"] == found.config.learning_rate


def test_a_diverging_trial_has_the_lowest_value(log: Episodes, tmp_path: Path):
    path = str(write_dataset(log, tmp_path / "log.npz"))
    wild = fit_config(**{**cart.TINY_FIT, "learning_rate": 1e30})
    assert Store(tmp_path).run(TrialFit(path, wild, 5)) == {"value": -1.0}
