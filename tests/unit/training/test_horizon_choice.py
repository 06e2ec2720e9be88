"""weights="auto": the horizon follows from how fast a pilot's errors grow."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episodes
from farstep.models.model import Model
from farstep.training.config import FitConfig, fit_config
from farstep.training.fit import fit
from farstep.training.horizon_choice import GROWTH, PILOT, choose, first_grown, pilot, within

SETTINGS: dict[str, Any] = {
    **{name: cart.TINY_FIT[name] for name in ("width", "depth")},
    "weights": "auto",
    "horizon": 8,
    "batch_size": 64,
    "model_steps": 200,
}


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
        ([0.3, 0.4, 0.5, 0.6], 4),  # noise: the error has to double
    ],
)
def test_the_first_horizon_whose_error_has_grown(squared: list[float], horizon: int):
    assert first_grown(np.array(squared)).horizon == horizon


def test_the_growth_of_a_wrong_linear_model_is_known():
    """s' = 1.05 s of data that stand still errs by (1.05^j − 1) s."""
    rng = np.random.default_rng(0)
    still = cart.data(4)
    rows = np.repeat(rng.normal(size=(4, 2)), 21, axis=0).astype(np.float32)
    still = replace(still, observations=rows, actions=0 * still.actions)
    found = choose(cart.linear(np.diag([1.05, 1.05]).astype(np.float32)), still, 8)
    expected = (1.05 ** np.arange(1, 9) - 1) ** 2 / 0.05**2
    np.testing.assert_allclose(np.array(found.growth, float), expected, rtol=1e-3)
    assert found.horizon == np.argmax(expected >= GROWTH) + 1 == 4


def test_noise_asks_for_a_longer_horizon():
    wrong = cart.linear(cart.A + np.array([[0.0, 0.01], [0.0, 0.03]], np.float32))
    clean = cart.data(4)
    noise = np.random.default_rng(0).normal(scale=0.1, size=clean.observations.shape)
    noisy = replace(clean, observations=(clean.observations + noise).astype(np.float32))
    assert choose(wrong, noisy, 15).horizon > choose(wrong, clean, 15).horizon


def test_a_pilot_is_short_and_one_step_ahead():
    assert pilot(FitConfig(model_steps=10_000)).model_steps == PILOT
    assert pilot(FitConfig(model_steps=100)).model_steps == 20
    short = pilot(FitConfig(epochs=9, ensemble_size=4, horizon=7, truncate_gradient=2))
    assert (short.epochs, short.ensemble_size, short.horizon, short.weights) == (1, 1, 1, "uniform")
    assert short.truncate_gradient is None


def test_it_is_the_fit_with_the_chosen_horizon(cart_data: Episodes):
    validation = cart.data(1, seed=1)
    found = fit(cart_data, validation, SETTINGS)
    choice = found.record["horizon_choice"]
    assert choice["horizon"] == found.horizon in range(1, 9)
    assert found.config["horizon"] == 8
    assert len(choice["growth"]) == 8 and choice["growth"][0] == 1.0
    again = fit(cart_data, validation, SETTINGS, weights="uniform", horizon=choice["horizon"])
    assert "horizon_choice" not in again.record
    pairs = zip(*(jax.tree.leaves(one.dynamics) for one in (found, again)), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_one_step_ahead_there_is_nothing_to_choose(cart_data: Episodes, tiny_model: Model):
    settings = {**cart.TINY_FIT, "horizon": 1, "epochs": 1}
    one, other = (
        fit(cart_data, cart.data(1, seed=1), {**settings, "weights": weights})
        for weights in ("auto", "uniform")
    )
    assert one.fingerprint == other.fingerprint != tiny_model.fingerprint
    assert one.config["weights"] == "uniform"


@pytest.mark.parametrize("steps", [1, 2, 7, 25, 400])
def test_an_observer_has_at_most_half_of_an_episode(steps: int):
    """Where the horizon is chosen; half an episode remains if no validation data are given."""
    config, data = fit_config("ensemble"), cart.data(2, steps)
    found = within(config, data, data)
    assert found.observer_steps == min(20, steps // 2)
    assert found.horizon == max(1, min(config.horizon, steps - found.observer_steps))
    halved = within(config, data, None)
    assert halved.observer_steps + halved.horizon <= max(1, steps // 2)


@pytest.mark.parametrize(("steps", "observer_steps"), [(3, 0), (4, 0), (7, 3), (23, 19), (400, 20)])
def test_an_observer_has_the_steps_that_a_given_horizon_leaves(steps: int, observer_steps: int):
    config, data = fit_config("ensemble", horizon=4, weights="uniform"), cart.data(2, steps)
    assert within(config, data, data) == replace(config, observer_steps=observer_steps)
