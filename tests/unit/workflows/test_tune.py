"""The search for settings: it goes on, ends the same after a kill, and finds better settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cart
from farstep.data.dataset_files import write_dataset
from farstep.errors import FarstepError
from farstep.training.config import FitConfig
from farstep.training.weights import decay
from farstep.workflows.runs import Store
from farstep.workflows.tune import SPACE, TrialFit, tune

pytest.importorskip("optuna")


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(write_dataset(cart.data(10), tmp_path / "log.npz"))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[TrialFit]:
    """Replace the value of settings by a known function; return the computed trials."""
    trials: list[TrialFit] = []

    def compute(self: TrialFit, directory: Path, store: Store) -> dict[str, Any]:
        del directory, store
        trials.append(self)
        return {"value": -abs(float(np.log10(self.fit.learning_rate)) + 3)}

    monkeypatch.setattr(TrialFit, "compute", compute)
    return trials


def test_it_finds_better_settings_and_goes_on(log: str, tmp_path: Path, computed: list[TrialFit]):
    first = tune(log, out=tmp_path / "a", trials=6, evaluation_horizon=5)
    assert len(first.trials) == 6
    more = tune(log, out=tmp_path / "a", trials=12, evaluation_horizon=5)
    assert more.trials[:6] == first.trials
    assert more.value >= first.value
    assert more.value == max(one["value"] for one in more.trials if one["value"] is not None)
    assert abs(np.log10(more.config.learning_rate) + 3) < 0.5
    assert {len(one["settings"]) for one in more.trials} == {len(SPACE)}
    assert any(one["value"] is None for one in more.trials)  # a trial that ended early
    assert more.config.model_steps is not None
    pilots = [one for one in computed if one.fit.model_steps != more.config.model_steps]
    assert len(pilots) == 12
    assert "best so far" in more.chart().legend


def test_a_killed_search_ends_as_an_uninterrupted_one(
    log: str, tmp_path: Path, computed: list[TrialFit], monkeypatch: pytest.MonkeyPatch
):
    whole = tune(log, out=tmp_path / "whole", trials=8, evaluation_horizon=5)
    compute, count, number = TrialFit.compute, [], len(computed)

    def killed(self: TrialFit, directory: Path, store: Store) -> dict[str, Any]:
        count.append(1)
        if len(count) == 7:
            raise KeyboardInterrupt
        return compute(self, directory, store)

    monkeypatch.setattr(TrialFit, "compute", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(log, out=tmp_path / "parts", trials=8, evaluation_horizon=5)
    assert tune(log, out=tmp_path / "parts", trials=8, evaluation_horizon=5) == whole
    assert len(computed) == 2 * number  # the finished fits of the killed search were read


def test_other_settings_or_data_are_refused_without_force(
    log: str, tmp_path: Path, computed: list[TrialFit]
):
    few: dict[str, Any] = {"out": tmp_path / "tuned", "trials": 1, "evaluation_horizon": 5}
    tune(log, **few)
    with pytest.raises(FarstepError, match=r"fit\.horizon"):
        tune(log, fit={"horizon": 2}, **few)
    write_dataset(cart.data(9), log, force=True)
    with pytest.raises(FarstepError, match="other data"):
        tune(log, **few)
    found = tune(log, fit={"horizon": 2, "weights": decay(0.5)}, force=True, **few)
    assert (found.config.horizon, found.config.weights) == (2, "decay:0.5")
    assert len(computed) == 4


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"trials": 0}, "trials"),
        ({"evaluation_horizon": 31}, "evaluation_horizon"),
        ({"fit": {"width": 8}}, "width"),
        ({"fit": {"hroizon": 8}}, "'horizon'"),
        ({"fit": {"horizon": 0}}, "horizon"),
    ],
)
def test_wrong_arguments_are_named(log: str, tmp_path: Path, settings: dict, name: str):
    with pytest.raises(FarstepError, match=name):
        tune(log, **{"out": tmp_path / "tuned", "evaluation_horizon": 5, **settings})
    assert not (tmp_path / "tuned").exists()


def test_wrong_data_are_named(tmp_path: Path):
    with pytest.raises(FarstepError, match="data"):
        tune([], out=tmp_path / "tuned")
    with pytest.raises(FarstepError, match="nowhere"):
        tune("nowhere.npz", out=tmp_path / "tuned")


def test_trials_with_more_epochs_start_first():
    short, long = (TrialFit("log", FitConfig(epochs=n), 5).usual_seconds for n in (1, 10))
    assert short < long
