"""Settings of a fit: presets, checks, and the ways to give them."""

import dataclasses
from typing import Any, get_args

import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.training.config import PRESETS, FitConfig, FitPreset, fit_config
from farstep.training.fit import fit_settings
from farstep.training.weights import Uniform, decay


def test_presets():
    assert get_args(FitPreset) == tuple(PRESETS)
    assert fit_config() == FitConfig() == PRESETS["default"]
    assert PRESETS["ensemble"].ensemble_size == 3 and PRESETS["ensemble"].observer_steps > 0
    paper = fit_config("paper", horizon=4)
    assert (paper.horizon, paper.width, paper.depth, paper.activation) == (4, 256, 2, "tanh")
    assert (paper.normalisation, paper.dropout, paper.batch_size) == ("batch", 0.1, 64)
    assert (paper.learning_rate, paper.target, paper.weights) == (1e-3, "next", "uniform")


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ("paper", {"horizon": 3}),
        ({"preset": "paper", "horizon": 3}, {}),
        ({"preset": "paper", "horizon": 9}, {"horizon": 3}),
        (PRESETS["paper"], {"horizon": 3}),
        (None, {"preset": "paper", "horizon": 3}),
    ],
)
def test_settings_may_be_given_in_several_ways(config: Any, settings: dict):
    found, weights = fit_settings(config, settings)
    assert found == dataclasses.replace(PRESETS["paper"], horizon=3)
    assert weights == Uniform()


@pytest.mark.parametrize("weights", ["decay:0.5", decay(0.5)])
def test_weights_may_be_a_text_or_a_profile(weights: Any):
    found, chosen = fit_settings(None, {"weights": weights})
    assert found.weights == "decay:0.5"
    assert chosen == decay(0.5)
    assert fit_settings({"weights": weights})[0] == found


def unchecked(**settings: Any) -> FitConfig:
    """Return a configuration as users make it: without the type checks of the tests."""
    config = object.__new__(FitConfig)
    for name, value in {**dataclasses.asdict(FitConfig()), **settings}.items():
        object.__setattr__(config, name, value)
    config.__post_init__()
    return config


def test_values_become_those_that_json_knows():
    found = unchecked(angles=[[1, 2]], epochs=np.int64(3), bounds=np.float32(0.5), dropout=0)
    assert found.angles == ((1, 2),)
    kinds = [type(value) for value in (found.epochs, found.bounds, found.dropout)]
    assert kinds == [int, float, float]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"horizn": 3}, "Did you mean 'horizon'"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"seed": 2**70}, "seed"),
        ({"preset": "papr"}, "Did you mean 'paper'"),
        ({"truncate_gradient": 0}, "truncate_gradient"),
        ({"angles": ((1, 1),)}, "two different"),
        ({"dropout": 1.0}, "dropout"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"input_noise": -0.1}, "input_noise"),
        ({"observer_steps": -1}, "observer_steps"),
        ({"model_steps": 0}, "model_steps"),
        ({"model_steps": None}, "model_steps"),
        ({"epochs": 0}, "epochs"),
        ({"weights": "decy:1"}, "Did you mean 'decay'"),
        ({"ema_decay": 1.0}, "ema_decay"),
        ({"ema_decay": 0.9, "normalisation": "batch"}, "normalisation"),
        ({"observer_steps": 2, "fixed_horizon": 2}, "observer_steps"),
        ({"model": "linear", "fixed_horizon": 2}, "fixed_horizon"),
        ({"model": "linear", "ensemble_size": 2}, "ensemble_size"),
    ],
)
def test_settings_that_make_no_sense_are_errors(settings: dict, part: str):
    with pytest.raises(FarstepError) as caught:
        fit_settings(None, settings)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"horizon": True}, "horizon must be a whole number"),
        ({"horizon": 1.5}, "horizon must be a whole number"),
        ({"target": "dleta"}, "Did you mean 'delta'"),
        ({"loss_scale": "metres"}, "loss_scale"),
        ({"validation_metric": "foo"}, "validation_metric"),
        ({"truncate_gradient": "full"}, "truncate_gradient"),
        ({"width": "wide"}, "width must be a whole number"),
        ({"angles": ((0, 1, 2),)}, "angles"),
    ],
)
def test_values_of_another_type_are_errors(settings: dict, part: str):
    with pytest.raises(FarstepError) as caught:
        unchecked(**settings)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        ({"model_steps": 240}, 3),  # of 50 updates, 2 model steps each
        ({"model_steps": 200}, 2),
        ({"model_steps": None, "epochs": 7}, 7),
        ({"model_steps": 200, "epochs": 7}, 2),
        ({"model_steps": 10_000, "epochs": 7}, 7),
    ],
)
def test_training_ends_at_the_first_limit(settings: dict, epochs: int):
    assert FitConfig(horizon=2, **settings).max_epochs(50) == epochs


def test_a_window_spans_the_observer_and_all_model_steps():
    assert FitConfig(horizon=4, observer_steps=3).window_steps == 7
    assert FitConfig(horizon=4, fixed_horizon=5).window_steps == 20
