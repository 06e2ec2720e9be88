"""Residual layers, weight decay, weight averaging, noise on inputs, and the errors' units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.network import NetworkShape, create_network, evaluate
from farstep.dynamics.network import train as train_network
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import FitRun, fit
from farstep.fitting.optimiser import optimiser
from farstep.fitting.training import initial_state, train_epoch
from farstep.weights import profile
from test_fit import TINY, pendulum

KEY = jax.random.key(0)
SMALL = {"width": 8, "dropout": 0.0, "normalisation": "none"}


def _epoch(data: Episodes, **settings):
    """Return the model before, the state after one epoch, and its record."""
    run = FitRun(data, data, FitConfig(**{**SMALL, **settings}), profile("uniform"))
    dynamics = NetworkDynamics.create(KEY, run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, run.config.horizon, run.recipe)
    chosen = jnp.arange(len(run.windows))
    after, record = train_epoch(state, dynamics, run.windows, chosen, KEY, run.recipe)
    return dynamics, after, record


def test_a_residual_layer_is_added_to_the_one_before():
    shape = NetworkShape(4, 3, "tanh", "none", 0.0, residual=True)
    network, statistics = create_network(KEY, 2, 1, shape)
    x = jax.random.normal(KEY, (5, 2))
    hidden = np.asarray(x)
    for number, layer in enumerate(network.layers):
        new = np.tanh(hidden @ np.asarray(layer.weight) + np.asarray(layer.bias))
        hidden = hidden + new if number else new
    expected = hidden @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)
    np.testing.assert_allclose(evaluate(network, statistics, x, shape), expected, atol=1e-5)
    trained, _ = train_network(network, statistics, x, shape, KEY)
    np.testing.assert_allclose(trained, expected, atol=1e-5)


def test_weight_decay_takes_a_share_of_each_weight():
    weights = jnp.array([1.0, -2.0])
    adam = optimiser(0.1, None, None, 0.5)
    changes, _ = adam.update(jnp.zeros(2), adam.init(weights), weights)
    np.testing.assert_allclose(np.asarray(changes), -0.1 * 0.5 * weights, rtol=1e-6)


def test_the_average_is_of_the_weights_along_the_way():
    """One update an epoch, so that the weights can be seen after each; then the same average."""
    data = pendulum(2, 40)
    dynamics, after, _ = _epoch(data, batch=1000, average=0.999)
    expected = jax.tree.map(
        lambda old, new: 0.1 * old + 0.9 * new, dynamics.network, after.trained.network
    )
    for ours, one in zip(jax.tree.leaves(after.averaged), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, one, rtol=1e-5, atol=1e-7)


def test_the_average_is_what_a_fit_keeps():
    plain, averaged = (
        fit(pendulum(3), pendulum(1), **TINY, average=average) for average in (None, 0.9)
    )
    ours, theirs = (model.dynamics.network.head_weight for model in (averaged, plain))  # pyright: ignore[reportAttributeAccessIssue]
    assert not np.array_equal(ours, theirs)
    assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() < 0.1


def test_noise_on_inputs_is_of_the_size_that_is_asked_for():
    """In a world that stands still, a model that predicts no change errs by the noise alone."""
    still = Episodes.from_list([Episode(np.zeros((401, 2), np.float32), np.zeros((400, 1)))])
    settings = {"target": "delta", "depth": 0, "batch": 400, "input_noise": 0.3}
    run = FitRun(still, still, FitConfig(**{**SMALL, **settings}), profile("uniform"))
    dynamics = NetworkDynamics.create(KEY, run.scaling, run.form, 1, 0.1)
    unmoved = jax.tree.map(jnp.zeros_like, dynamics.network)
    dynamics = NetworkDynamics(**{**vars(dynamics), "network": unmoved})
    state = initial_state(dynamics, 1, run.recipe)
    _, record = train_epoch(state, dynamics, run.windows, jnp.arange(400), KEY, run.recipe)
    assert float(record.losses[0]) == pytest.approx(0.3**2, rel=0.15)


def test_units_of_the_target_scale_the_loss():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(200, 1)), axis=0).astype(np.float32)
    data = Episodes.from_list([Episode(walk, np.zeros((199, 1), np.float32))])
    losses = {
        units: _epoch(data, target="delta", batch=1000, units=units)[2].losses
        for units in ("state", "target")
    }
    ratio = (walk.std() / np.diff(walk, axis=0).std()) ** 2
    np.testing.assert_allclose(losses["target"] / losses["state"], ratio, rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"average": 1.0}, "average must lie between 0 and 1"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"input_noise": -0.1}, "input_noise must be 0 or more"),
        ({"units": "metres"}, "units"),
    ],
)
def test_settings_that_make_no_sense(settings: dict, said: str):
    with pytest.raises(FarstepError, match=said):
        fit(pendulum(2), pendulum(1), **settings)


def test_all_of_them_resume_and_save(tmp_path):
    settings = {"average": 0.9, "residual": True, "weight_decay": 0.01, "input_noise": 0.01}
    model = fit(pendulum(3), pendulum(1), **TINY, **settings, units="target", out=tmp_path)
    again = fit(pendulum(3), pendulum(1), **TINY, **settings, units="target", out=tmp_path)
    np.testing.assert_array_equal(
        model.predict(np.zeros(2), np.zeros(1))[0], again.predict(np.zeros(2), np.zeros(1))[0]
    )
