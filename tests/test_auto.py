"""weights="auto": the horizon follows from how fast a one-step model's errors grow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from farstep import tensors
from farstep.errors import FarstepError
from farstep.fitting.auto import GROWTH, PILOT, first_grown, pilot
from farstep.fitting.checkpoint import Checkpoints
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import FitRun, fit
from pendulum import pendulum

SMALL: dict[str, Any] = {"width": 16, "depth": 2, "compositions": 1600, "batch": 64, "horizon": 8}


@pytest.mark.parametrize(
    ("squared", "horizon"),
    [
        ([1e-3, 2e-3, GROWTH * 1e-3, 5e-3], 3),
        ([1e-3, 1.1e-3, 1.2e-3], 3),
        ([1e-3, np.inf, np.inf], 2),
        ([1e-3, 2e-3, np.nan], 2),
        ([0.0, 0.0, 0.0], 3),
        ([2.0], 1),
        ([0.05, 0.09, 0.1, 0.2], 3),  # a tenth of the variance, and twice the first
        ([0.3, 0.4, 0.5, 0.6], 4),  # noise: it has to double
    ],
)
def test_the_first_horizon_whose_error_has_grown(squared: list[float], horizon: int):
    assert first_grown(np.array(squared)).horizon == horizon


def test_a_pilot_is_one_step_ahead_and_short():
    assert pilot(FitConfig(compositions=10_000)).compositions == PILOT
    assert pilot(FitConfig(compositions=100)).compositions == 20
    short = pilot(FitConfig(epochs=9, members=4, horizon=7, weights="auto"))
    assert (short.epochs, short.members, short.horizon, short.weights) == (1, 1, 1, "uniform")


def test_it_is_the_fit_with_the_horizon_that_was_chosen():
    train, validation = pendulum(6), pendulum(2, seed=1)
    chosen = fit(train, validation, weights="auto", **SMALL)
    found = chosen.record["auto"]
    assert chosen.horizon == found["horizon"]
    assert found["horizon"] <= 8
    assert chosen.config["horizon"] == 8
    assert len(found["growth"]) == 8 and found["growth"][0] == 1.0
    fixed = fit(train, validation, weights="uniform", **{**SMALL, "horizon": found["horizon"]})
    for one, other in zip(
        tensors.to_arrays(chosen.dynamics).values(),
        tensors.to_arrays(fixed.dynamics).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_noise_asks_for_a_longer_horizon():
    train, validation = pendulum(6), pendulum(2, seed=1)
    clean = fit(train, validation, weights="auto", **SMALL)
    blurred = fit(_noisy(train, 0.1), _noisy(validation, 0.1), weights="auto", **SMALL)
    assert blurred.record["auto"]["horizon"] > clean.record["auto"]["horizon"]


def _noisy(episodes, deviation: float):
    noise = np.random.default_rng(0).normal(scale=deviation, size=episodes.states.shape)
    return replace(episodes, states=episodes.states + noise)


def test_it_is_finished_and_found_again_by_its_own_name(tmp_path):
    train, validation = pendulum(4), pendulum(1, seed=1)
    settings = {**SMALL, "compositions": 100}
    (tmp_path / "m").mkdir()
    others = tmp_path / "m" / "pilot-plant.safetensors"
    others.write_text("a model of the user's own")
    first = fit(train, validation, weights="auto", out=tmp_path / "m", **settings)
    assert others.exists()
    assert not (tmp_path / "m" / "pilot-0.safetensors").exists()
    again = fit(train, validation, weights="auto", out=tmp_path / "m", **settings)
    assert again.record["auto"] == first.record["auto"]
    with pytest.raises(FarstepError, match="exists already"):
        fit(train, validation, weights="uniform", out=tmp_path / "m", **settings)


def test_data_of_one_short_episode_are_enough(tmp_path):
    settings = {**SMALL, "compositions": 100, "horizon": 10}
    model = fit(pendulum(1, 15), weights="auto", out=tmp_path / "m", **settings)
    assert 1 <= model.record["auto"]["horizon"] <= 7
    assert fit(pendulum(1, 15), weights="auto", out=tmp_path / "m", **settings).record


def test_a_killed_fit_goes_on_with_its_pilot(tmp_path, monkeypatch):
    train, validation = pendulum(4), pendulum(1, seed=1)
    settings = {**SMALL, "compositions": 800}
    whole = fit(train, validation, weights="auto", **settings)
    advance, calls = FitRun._advance, []

    def dying(self, *arguments):
        calls.append(self.name)
        if calls.count("fit") == 2:
            raise KeyboardInterrupt
        return advance(self, *arguments)

    monkeypatch.setattr(FitRun, "_advance", dying)
    with pytest.raises(KeyboardInterrupt):
        fit(train, validation, weights="auto", out=tmp_path / "m", **settings)
    monkeypatch.setattr(FitRun, "_advance", advance)
    assert (tmp_path / "m" / "pilot-0.safetensors").exists()
    again = fit(train, validation, weights="auto", out=tmp_path / "m", **settings)
    for name, array in tensors.to_arrays(whole.dynamics).items():
        np.testing.assert_array_equal(array, tensors.to_arrays(again.dynamics)[name])
    assert not list((tmp_path / "m").glob("*-0.safetensors"))


def test_a_forced_fit_goes_on_from_its_pilot_past_another_unfinished_fit(tmp_path, monkeypatch):
    train, validation, out = pendulum(4), pendulum(1, seed=1), tmp_path / "m"
    settings = {**SMALL, "compositions": 800}
    write = Checkpoints.write

    def stopping(self, member, checkpoint):
        write(self, member, checkpoint)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "write", stopping)
        for weights, force in (("uniform", False), ("auto", True)):
            with pytest.raises(KeyboardInterrupt):
                fit(train, validation, weights=weights, out=out, force=force, **settings)
    assert [path.name for path in out.glob("*-0.safetensors")] == ["pilot-0.safetensors"]
    assert "auto" in fit(train, validation, weights="auto", out=out, **settings).record
