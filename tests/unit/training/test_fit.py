"""Fits: what they recover, when they stop, and what they refuse."""

import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import DataWarning, DivergedError, FarstepError
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.storage import tensors
from farstep.training.config import fit_config
from farstep.training.epoch import train_part
from farstep.training.fit import fit
from farstep.training.trainer import Trainer
from farstep.training.weights import decay

BATCH = 38
"""Divides the windows of `cart_data` at horizon 2, so that all batches have one size."""


def fitted(data: Episodes, **settings: Any) -> Model:
    settings = {**cart.TINY_FIT, "batch_size": BATCH, **settings}
    return fit(data, cart.data(1, seed=1), settings)


def same(one: Model, other: Model) -> bool:
    ours, theirs = (tensors.to_arrays(model.dynamics) for model in (one, other))
    return all(np.array_equal(theirs[name], values) for name, values in ours.items())


A, B, NOISE = 0.95, 0.3, 0.5


def noisy_log(seed: int) -> Episodes:
    """Return a log of x' = 0.95 x + 0.3 u, whose noise is half as large as x."""
    rng = np.random.default_rng(seed)
    actions, states = rng.normal(size=(600, 1)), [np.zeros(1)]
    for action in actions:
        states.append(A * states[-1] + B * action)
    seen = np.stack(states) + NOISE * rng.normal(size=(601, 1))
    return Episodes.from_list([Episode(seen.astype(np.float32), actions.astype(np.float32))])


def best_slope(horizon: int) -> float:
    """Return the θ of x' = θ x + φ u that minimises the multi-step loss on endless noisy data."""

    def loss(parameters: np.ndarray) -> float:
        theta, phi = parameters
        j = np.arange(1, horizon + 1)
        variance = B**2 / (1 - A**2)
        start = (A**j - theta**j) ** 2 * variance + theta ** (2 * j) * NOISE**2
        return float((start + np.cumsum((B * A ** (j - 1) - phi * theta ** (j - 1)) ** 2)).sum())

    return float(minimize(loss, np.array([0.9, B])).x[0])


@pytest.mark.parametrize(
    ("horizon", "observer_steps", "expected"),
    [(1, 0, best_slope(1)), (10, 0, best_slope(10)), (1, 30, A)],
)
def test_noise_flattens_one_step_models_only(horizon: int, observer_steps: int, expected: float):
    """With h = 1, least squares gives 0.95 · Var x / (Var x + σ²) = 0.75, a longer horizon more."""
    variance = B**2 / (1 - A**2)
    assert best_slope(1) == pytest.approx(A * variance / (variance + NOISE**2), abs=1e-3)
    assert best_slope(10) > 0.9
    data = Episodes.from_list([*noisy_log(0), *noisy_log(1), *noisy_log(2)])
    model = fit(
        data,
        noisy_log(3),
        horizon=horizon,
        observer_steps=observer_steps,
        weights="uniform",
        depth=0,
        model_steps=2000 * horizon,
        batch_size=128,
        learning_rate=1e-2,
    )
    found, _ = model.predict(np.array([[0.0], [1.0]]), np.zeros((2, 1)))
    assert found[1, 0] - found[0, 0] == pytest.approx(expected, abs=0.04)


def test_the_linear_model_is_the_exact_system():
    model = fit(cart.data(), cart.data(1, seed=1), model="linear")
    test = cart.data(1, seed=2)
    mean, _ = model.rollout(test.observations[0], test.actions)
    np.testing.assert_allclose(mean, test.observations[1:], atol=1e-4)
    assert model.horizon == 1
    assert "curves" not in model.record


def test_every_epoch_is_recorded(cart_data: Episodes):
    model = fitted(cart_data, weights=decay(0.5), epochs=3)
    (curve,) = model.record["curves"]
    assert len(curve["score"]) == len(curve["gradient_norm"]) == len(curve["seconds"]) == 3
    assert np.shape(curve["train"]) == np.shape(curve["validation"]) == (3, 2)
    np.testing.assert_allclose(curve["weights"], [[2 / 3, 1 / 3]] * 3, rtol=1e-5)
    np.testing.assert_allclose(
        np.array(curve["validation"]) @ [2 / 3, 1 / 3], curve["score"], rtol=1e-5
    )
    assert min(curve["gradient_norm"]) > 0
    assert curve["best_epoch"] == int(np.argmin(curve["score"]))
    assert model.record["train"] == cart_data.fingerprint
    assert model.record["validation"] == cart.data(1, seed=1).fingerprint


@pytest.mark.parametrize("entropy", [0.0, 10.0])
def test_learned_weights_collapse_unless_entropy_spreads_them(cart_data: Episodes, entropy: float):
    settings = {"epochs": 40, "learning_rate": 0.02, "schedule": "constant"}
    model = fitted(cart_data, horizon=2, weights=f"learned:{entropy}", **settings)
    last = model.record["curves"][0]["weights"][-1]
    if entropy:
        np.testing.assert_allclose(last, 0.5, atol=0.02)
    else:
        assert last[0] > 0.6


def test_proportional_weights_follow_the_running_losses(cart_data: Episodes):
    model = fitted(cart_data, weights="proportional", epochs=10)
    curve = model.record["curves"][0]
    weights, inverse = curve["weights"][-1], 1 / np.mean(curve["train"], axis=0)
    assert sum(weights) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(weights, inverse / inverse.sum(), rtol=0.1)


@pytest.mark.parametrize("metric", ["one-step", "objective", "r2"])
def test_it_stops_without_improvement_and_keeps_the_best(cart_data: Episodes, metric: str):
    settings = {"epochs": 60, "patience": 2, "learning_rate": 0.1, "schedule": "constant"}
    model = fitted(cart_data, validation_metric=metric, r2_horizon=10, **settings)
    curve = model.record["curves"][0]
    assert len(curve["score"]) < 60
    assert len(curve["score"]) - 1 - curve["best_epoch"] == 2
    validation, best = cart.data(1, seed=1), min(curve["score"])
    if metric == "r2":
        score = -float(mean_r_squared(r_squared(model.dynamics, validation, 10, 512)).mean())
        assert score == pytest.approx(best, rel=1e-4)
    else:
        losses = np.array(curve["validation"][curve["best_epoch"]])
        assert best == pytest.approx(losses[0] if metric == "one-step" else losses.mean())


def test_a_seed_is_one_model_to_the_bit(cart_data: Episodes):
    one, two, other = (fitted(cart_data, seed=seed) for seed in (1, 1, 2))
    assert same(one, two)
    assert not same(one, other)


def test_members_differ_with_and_without_a_bootstrap(cart_data: Episodes, tiny_ensemble: Model):
    shared = fitted(cart_data, ensemble_size=2, bootstrap=False)
    for model in (tiny_ensemble, shared):
        assert isinstance(model.dynamics, Ensemble)
        assert len(model.record["curves"]) == model.dynamics.size == 2
        zeros = (jnp.asarray(np.zeros(n, np.float32)) for n in (2, 1))
        assert np.asarray(model.dynamics.each(*zeros).mean).std(axis=0).min() > 0


def test_a_fixed_deviation_is_the_validation_error(tiny_model: Model):
    validation = cart.data(1, seed=1)
    before, after = validation.transitions()
    mean, std = tiny_model.predict(before, validation.actions)
    np.testing.assert_allclose(std[0], np.sqrt(((after - mean) ** 2).mean(0)), rtol=1e-3)


def test_a_fit_may_start_from_another_model(cart_data: Episodes, tiny_model: Model):
    new = cart.data(3, seed=5)
    config = fit_config(**cart.TINY_FIT)
    begun = Trainer(new, new, config, start=tiny_model.dynamics).new_member(jax.random.key(9))
    ours, theirs = (one.network for one in (begun, tiny_model.dynamics))  # pyright: ignore[reportAttributeAccessIssue]
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    np.testing.assert_allclose(
        begun.normalizer.observation_mean, new.observations.mean(0), rtol=1e-5
    )
    cold, warm = (
        fit(cart_data, cart.data(1, seed=1), cart.TINY_FIT, start=start).record["curves"][0]
        for start in (None, tiny_model)
    )
    assert warm["train"][0][0] < cold["train"][0][0]


def test_each_member_starts_from_its_own(cart_data: Episodes, tiny_ensemble: Model):
    config = fit_config(**cart.TINY_FIT)
    begun = Trainer(cart_data, cart_data, config, start=tiny_ensemble.dynamics)
    for number in range(3):
        found = begun.new_member(jax.random.key(9), number)
        expected = tiny_ensemble.dynamics.member(number % 2)  # pyright: ignore[reportAttributeAccessIssue]
        jax.tree.map(np.testing.assert_array_equal, found.network, expected.network)


def test_a_model_of_other_sizes_is_no_start(cart_data: Episodes, tiny_model: Model):
    for settings in ({"width": 8}, {"target": "next"}, {"bounds": 1.0}, {"fixed_horizon": 2}):
        with pytest.raises(FarstepError, match="start"):
            fit(cart_data, cart.data(1), {**cart.TINY_FIT, **settings}, start=tiny_model)
    with pytest.raises(FarstepError, match="start"):
        fit(cart_data, cart.data(1), cart.TINY_FIT, start=cart.model())
    with pytest.raises(FarstepError, match="start"):
        fit(cart_data, cart.data(1), model="linear", start=tiny_model)
    with pytest.raises(FarstepError, match="start"):  # past the type checks of the tests
        inspect.unwrap(fit)(cart_data, start="model.safetensors")


def test_a_fit_that_diverges_says_where():
    settings = {"activation": "relu", "learning_rate": 1e6, "max_grad_norm": None}
    with pytest.raises(DivergedError, match=r"epoch \d+.*horizon \d+.*learning_rate"):
        fitted(cart.data(), **settings)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"horizon": 61}, "longer than every episode"),
        ({"weights": "explicit:1,1", "horizon": 3}, "3 horizons"),
        ({"weights": lambda _: 1.0}, "one weight for each"),
        ({"angles": ((0, 5),)}, "angles"),
        ({"batch_size": 1, "normalisation": "batch"}, "batch_size"),
    ],
)
def test_settings_that_do_not_suit_the_data_are_errors(settings: dict, part: str):
    with pytest.raises(FarstepError) as caught:
        fitted(cart.data(), **settings)
    assert part in str(caught.value)


def test_data_that_do_not_suit_are_errors(small: Episodes):
    with pytest.raises(FarstepError, match="different observations or actions"):
        fit(cart.data(), small)
    with jax.enable_x64(True), pytest.raises(FarstepError, match="float64"):
        fit(cart.data(), model="linear")


def test_changes_that_are_lost_beside_a_large_offset_are_warned_of():
    data = cart.data()
    far = data.observations.astype(np.float64) + np.array([0.0, 5.4e6])
    with pytest.warns(DataWarning, match="subtract a constant"):
        fit(dataclasses.replace(data, observations=far), model="linear")


def test_without_validation_data_a_part_is_held_out():
    data = cart.data(1, 60)
    model = fit(data, model="linear")
    held = Episodes.from_list([data[0].slice(54, 60)], data.signals, data.system, data.metadata)
    assert model.record["validation"] == held.fingerprint


def test_little_data_are_passed_over_several_times(monkeypatch: pytest.MonkeyPatch):
    """Every pass uses the same bootstrap draw, which has 63 % of the windows."""
    seen = []

    def watched(self, at, dynamics, chosen, key):
        seen.append(np.asarray(chosen))
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "_advance", watched)
    data = cart.data(4, 30)
    with pytest.raises(KeyboardInterrupt):
        fit(data, data, "ensemble", observer_steps=2, horizon=3, weights="uniform", width=16)
    (chosen,) = seen
    windows = 4 * (30 - 5 + 1)
    assert len(chosen) == windows * (50 * 256 // windows)
    assert 0.5 < len(np.unique(chosen)) / windows < 0.75
    np.testing.assert_array_equal(chosen[:windows], chosen[windows : 2 * windows])


def test_fits_that_differ_in_numbers_share_their_programs(cart_data: Episodes):
    """Other epochs, seeds and fixed weights, and an episode more within the same padding."""

    def compiled() -> int:
        return train_part._cache_size()  # pyright: ignore[reportAttributeAccessIssue]

    first = {"batch_size": 19, "learning_rate": 0.00321}
    before = compiled()
    fitted(cart_data, **first)
    assert compiled() == before + 1
    for changes in ({"epochs": 4}, {"seed": 3}, {"weights": "decay:0.3"}, {"weights": [0, 1]}):
        fitted(cart_data, **first, **changes)
    for episodes in (5, 6):  # 105 and 126 observations: both are padded to 128
        fitted(cart.data(episodes), **first)
    assert compiled() == before + 1


def test_a_fitted_function_of_losses_is_traced_once_for_all_epochs(cart_data: Episodes):
    calls = []

    def counting(losses: jax.Array) -> jax.Array:
        calls.append(len(losses))
        return jnp.ones_like(losses)

    model = fitted(cart_data, weights=counting, epochs=1)
    once = len(calls)
    fitted(cart_data, weights=counting, epochs=4)
    assert len(calls) == once > 0
    assert model.config["weights"].endswith("counting")
    assert model.signals == cart.SIGNALS != Signals.unnamed(2, 1)
