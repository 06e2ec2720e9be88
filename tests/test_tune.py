"""The search for settings: it goes on, ends the same after a kill, and finds what is better."""

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from farstep import tuning as module
from farstep.cli.tune import fit_command
from farstep.datasets.reading import write
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.fitting.config import FitConfig, fit_config
from farstep.model import load_model
from farstep.runs.store import Store
from farstep.signals import Signals
from farstep.tuning import SPACE, TrialFit, tune
from farstep.weights import Losses, decay

pytest.importorskip("optuna")


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A small linear system."""
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(10):
        actions = rng.uniform(-1, 1, (30, 1)).astype(np.float32)
        states = [rng.normal(size=2)]
        for action in actions:
            states.append(np.array([[0.9, 0.1], [-0.1, 0.9]]) @ states[-1] + 0.1 * action)
        episodes.append(Episode(np.array(states, np.float32), actions))
    write(Episodes.from_list(episodes, Signals.unnamed(2, 1)), tmp_path / "log.npz")
    return str(tmp_path / "log.npz")


@pytest.fixture
def valued(monkeypatch: pytest.MonkeyPatch) -> list[TrialFit]:
    """Have the value of settings be known, in place of what a fit of them gives."""
    asked: list[TrialFit] = []

    def compute(self: TrialFit, place: Path, store: object) -> dict:
        del place, store
        asked.append(self)
        return {"value": -abs(np.log10(self.config.learning_rate) + 3)}

    monkeypatch.setattr(TrialFit, "compute", compute)
    return asked


def test_it_finds_what_is_better_and_goes_on(log: str, tmp_path: Path, valued: list[TrialFit]):
    first = tune(log, out=tmp_path / "a", trials=6, care_about=5)
    assert len(first.trials) == 6
    more = tune(log, out=tmp_path / "a", trials=12, care_about=5)
    assert more.trials[:6] == first.trials
    assert more.value >= first.value
    assert more.value == max(one["value"] for one in more.trials if one["value"] is not None)
    assert abs(np.log10(more.config.learning_rate) + 3) < 0.5
    assert {len(one["settings"]) for one in more.trials} == {len(SPACE)}
    assert any(one["value"] is None for one in more.trials), "no trial ended early"
    pilots = [run for run in valued if run.config.compositions < more.config.compositions]
    assert len(pilots) == 12
    assert "best so far" in more.chart().legend


def test_a_killed_search_ends_as_if_it_had_not_been(
    log: str, tmp_path: Path, valued: list[TrialFit], monkeypatch: pytest.MonkeyPatch
):
    del valued
    whole = tune(log, out=tmp_path / "whole", trials=8, care_about=5)
    compute, count = TrialFit.compute, []

    def killed(self: TrialFit, place: Path, store: object) -> dict:
        count.append(1)
        if len(count) == 7:
            raise KeyboardInterrupt
        return compute(self, place, store)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(TrialFit, "compute", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(log, out=tmp_path / "parts", trials=8, care_about=5)
    assert tune(log, out=tmp_path / "parts", trials=8, care_about=5) == whole


def test_real_fits_from_the_command_line(
    log: str, tmp_path: Path, farstep: Callable, monkeypatch: pytest.MonkeyPatch
):
    narrow = {
        "learning_rate": lambda trial: trial.suggest_float("learning_rate", 1e-3, 1e-2),
        "width": lambda trial: trial.suggest_categorical("width", [4]),
    }
    monkeypatch.setattr(module, "SPACE", narrow)
    done = farstep("tune", log, "--trials", 2, "--care-about", 5, "--out", tmp_path / "tuned",
                   "--preset", "paper", "--fit-option", "epochs=1", "residual=true", "depth=1",
                   "--horizon", 2, "--weights", "decay:0.75", "--seed", 3)  # fmt: skip
    assert done.code == 0, done.err
    (best,) = [line for line in done.out.splitlines() if line.startswith("best: ")]
    done = farstep(*shlex.split(best)[2:])
    assert done.code == 0, done.err
    model = load_model(tmp_path / "tuned" / "best")
    assert (model.config["horizon"], model.config["seed"]) == (2, 3)
    trials = list(Store(tmp_path / "tuned" / "runs").finished())
    value = max(trials, key=lambda one: one["result"]["value"])
    tuned = load_model(tmp_path / "tuned" / "runs" / value["name"] / "model")
    assert model.record["identity"] == tuned.record["identity"]
    assert (tmp_path / "tuned" / "search.png").stat().st_size > 10_000
    assert (tmp_path / "tuned" / "study.db").exists()


def test_bad_input_is_one_line(log: str, tmp_path: Path):
    cases: list[tuple[dict[str, Any], str]] = [
        ({"trials": 0}, "trials must be a whole number of at least 1"),
        ({"care_about": 31}, "at most 30 steps"),
        ({"width": 8}, "width is searched"),
        ({"hroizon": 8}, "Did you mean 'horizon'"),
    ]
    for settings, message in cases:
        with pytest.raises(FarstepError, match=message):
            tune(log, out=tmp_path / "tuned", **settings)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "study.db").write_bytes(b"no database" * 100)
    with pytest.raises(FarstepError, match=r"study.db cannot be used"):
        tune(Path(log), out=tmp_path / "damaged", care_about=5)
    with pytest.raises(FarstepError, match="name a dataset"):
        tune([], out=tmp_path / "tuned")
    with pytest.raises(FarstepError, match="Did you mean 'horizon'"):
        tune(log, FitConfig(), out=tmp_path / "tuned", hroizon=8)
    with pytest.raises(FarstepError, match="horizon must be a whole number of at least 1"):
        tune(log, "paper", out=tmp_path / "tuned", horizon=0, care_about=5)


def test_trials_are_expected_to_last_longer_with_more_epochs():
    short, long = (TrialFit("log", FitConfig(epochs=n), 5).usual_seconds for n in (1, 10))
    assert 10 < short < long < 20


def falling(losses: Losses) -> Losses:
    return losses[::-1]


def test_weights_are_given_as_to_a_fit(log: str, tmp_path: Path, valued: list[TrialFit]):
    few: dict[str, Any] = {"out": tmp_path / "tuned", "trials": 1, "care_about": 5, "horizon": 2}
    given = (decay(0.5), [0.25, 0.75], falling)
    texts = [tune(log, FitConfig(), weights=one, **few).config.weights for one in given]
    assert texts == ["decay:0.5", "explicit:0.25,0.75", f"{__name__}:falling"]
    assert [bool(run.weights_source) for run in valued] == [False] * 4 + [True] * 2
    assert "weights_source" not in valued[0].settings
    assert valued[-1].settings["weights_source"]


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("recommended", {"angles": ((0, 1), (2, 3)), "residual": False, "clip": None}),
        ("paper", {"compositions": 10, "residual": True, "weights": "decay:0.9"}),
        ("ensemble", {"epochs": 3, "bootstrap": False, "stride": 2, "learning_rate": 1 / 3}),
        ("ensemble", {"model": "linear"}),
    ],
)
def test_the_command_for_a_fit_gives_its_settings(
    preset: str,
    settings: dict[str, Any],
    farstep: Callable,
    monkeypatch: pytest.MonkeyPatch,
    log: str,
):
    from farstep.fitting import fit as fitting

    given: list[FitConfig] = []

    def noted(train: object, validation: object, config: FitConfig, **_: object) -> None:
        given.append(config)
        raise FarstepError("enough.")

    monkeypatch.setattr(fitting, "fit", noted)
    wanted = fit_config(preset, **settings)
    farstep(*shlex.split(fit_command(log, preset, wanted, Path("a place")))[1:])
    assert given == [wanted]


def test_epochs_that_count_are_not_lost_in_a_command():
    config = dataclasses.replace(fit_config("paper"), compositions=10)
    assert "compositions" not in fit_command("log", "paper", config, Path("out"))
