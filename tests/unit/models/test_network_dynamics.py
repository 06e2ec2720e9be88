"""A network as a model: target, angles, bounds, deviations, and batch statistics in rollouts."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.data.episodes import Episode, Episodes
from farstep.models.network import NetworkShape
from farstep.models.network_dynamics import LOG_STD_RANGE, NetworkDynamics
from farstep.models.normalizer import Normalizer, deviation
from farstep.models.rollout import compose, rollout

KEY = jax.random.key(0)
SHAPE = NetworkShape(width=16, dropout=0.0, normalisation="none")


def array(*values: float | np.floating) -> jax.Array:
    return jnp.asarray(np.array(values, np.float32))


@pytest.fixture(scope="module")
def data() -> Episodes:
    """Three observations of different scales, the last of which does not vary."""
    rng = np.random.default_rng(0)
    return Episodes.from_list(
        [
            Episode(rng.normal(size=(31, 3)) * [1, 10, 0] + [0, 5, 2], rng.normal(size=(30, 2)))
            for _ in range(4)
        ]
    )


def network(data: Episodes, shape: NetworkShape = SHAPE, **settings) -> NetworkDynamics:
    target, fixed_horizon = settings.get("target", "next"), settings.get("fixed_horizon", 1)
    return NetworkDynamics.create(
        KEY, Normalizer.of(data, target, fixed_horizon), shape, **settings
    )


def with_bias(model: NetworkDynamics, *bias: float) -> NetworkDynamics:
    return eqx.tree_at(lambda m: m.network.head_bias, model, array(*bias))


def test_statistics_are_those_of_the_training_data(data: Episodes):
    found = Normalizer.of(data, "delta", 1)
    np.testing.assert_allclose(found.observation_mean, data.observations.mean(0), rtol=1e-5)
    np.testing.assert_allclose(found.observation_std[:2], data.observations.std(0)[:2], rtol=1e-5)
    assert found.observation_std[2] == 1.0
    differences = np.concatenate([np.diff(episode.observations, axis=0) for episode in data])
    np.testing.assert_allclose(found.target_mean, differences.mean(0), atol=1e-5)
    np.testing.assert_allclose(found.target_std[:2], differences.std(0)[:2], rtol=1e-5)
    np.testing.assert_allclose(found.observation_low, data.observations.min(0), rtol=1e-5)
    inputs = found.inputs(
        jnp.asarray(data.observations[:-4], jnp.float32), jnp.asarray(data.actions, jnp.float32)
    )
    np.testing.assert_allclose(np.asarray(inputs).std(0)[[0, 1, 3, 4]], 1.0, rtol=0.05)


def test_the_targets_of_a_fixed_horizon_are_that_many_steps_later(data: Episodes):
    found = Normalizer.of(data, "delta", 5)
    differences = np.concatenate([e.observations[5:] - e.observations[:-5] for e in data])
    np.testing.assert_allclose(found.target_std[:2], differences.std(0)[:2], rtol=1e-5)
    np.testing.assert_allclose(found.action_mean, np.tile(data.actions.mean(0), 5), rtol=1e-4)


def test_a_column_that_does_not_vary_is_divided_by_one():
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0), np.zeros(1000)], axis=1)
    assert 0 < values[:, 0].std() < 1e-15  # although all are equal
    np.testing.assert_allclose(deviation(values), [1.0, np.arange(1000).std(), 1.0])


@pytest.mark.parametrize("target", ["next", "delta"])
def test_delta_adds_the_output_to_the_state(data: Episodes, target: str):
    model = network(data, target=target)
    silent = dataclasses.replace(model, network=jax.tree.map(jnp.zeros_like, model.network))
    state = array(0.3, 4.0, 2.0)
    expected = model.normalizer.target_mean + (state if target == "delta" else 0)
    found = silent.predict(state, array(0.1, -0.2)).mean
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_angles_are_projected_onto_the_circle(data: Episodes):
    model, action = network(data, angles=((0, 1),)), array(0, 0)
    mean = model.predict(array(3.0, 4.0, 2.0), action).mean
    assert float(mean[0] ** 2 + mean[1] ** 2) == pytest.approx(1.0, abs=1e-5)
    free = network(data).predict(array(0.6, 0.8, 2.0), action).mean
    assert float(mean[0] / mean[1]) == pytest.approx(float(free[0] / free[1]), rel=1e-4)
    # The input is projected too: a sample that is fed back has left the circle.
    again = model.predict(array(0.6, 0.8, 2.0), action).mean
    np.testing.assert_allclose(mean, again, rtol=1e-5)


def test_bounds_keep_inputs_and_predictions_near_the_training_range(data: Episodes):
    model = network(data, bounds=0.1)
    low, high = data.observations.min(0), data.observations.max(0)
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    action = array(0, 0)
    mean = with_bias(model, 1e4, -1e4, 0).predict(array(0, 0, 0), action).mean
    np.testing.assert_allclose(mean[:2], [high[0], low[1]], rtol=1e-5)
    outside, edge = array(100, -1000, 2), array(high[0], low[1], 2)
    np.testing.assert_allclose(
        model.predict(outside, action).mean, model.predict(edge, action).mean, rtol=1e-6
    )


def test_a_learned_deviation_stays_in_its_range_and_a_fixed_one_is_fixed(data: Episodes):
    model = network(data, learned_std=True)
    state, action = array(0, 0, 0), array(0, 0)
    for bias, limit in zip((-1e4, 1e4), LOG_STD_RANGE, strict=True):
        log_std = with_bias(model, *[bias] * 6).predict(state, action).log_std
        np.testing.assert_allclose(log_std - np.log(model.normalizer.target_std), limit, atol=1e-3)
    fixed = network(data).predict(state, action).log_std
    np.testing.assert_allclose(np.exp(fixed), 0.1 * model.normalizer.target_std, rtol=1e-5)


def test_a_fixed_horizon_model_takes_the_actions_of_all_its_steps(data: Episodes):
    model = network(data, fixed_horizon=5)
    actions = np.arange(20.0, dtype=np.float32).reshape(10, 2)
    states = rollout(model, array(0, 0, 0), jnp.asarray(actions), KEY).mean
    assert states.shape == (2, 3)
    first = model.predict(array(0, 0, 0), array(*actions[:5].ravel())).mean
    second = model.predict(first, array(*actions[5:].ravel())).mean
    np.testing.assert_allclose(states, np.stack([first, second]), rtol=1e-5)


def test_in_training_each_model_step_normalises_with_its_own_batch(data: Episodes):
    """The running statistics take in all steps; outside training they are used."""
    model = network(data, dataclasses.replace(SHAPE, depth=1, normalisation="batch"))
    rng = np.random.default_rng(1)
    state = jnp.asarray(rng.normal(size=(40, 3)), jnp.float32)
    actions = jnp.asarray(rng.normal(size=(2, 40, 2)), jnp.float32)
    keys = jax.random.split(KEY, 2)
    found, running = compose(model.train_step, model.statistics, state, actions, keys)

    layer, normalizer = model.network.layers[0], model.normalizer
    mean, variance = np.zeros(16), np.ones(16)
    for j in range(2):
        hidden = np.asarray(normalizer.inputs(state, actions[j])) @ np.asarray(layer.weight)
        mean = 0.9 * mean + 0.1 * hidden.mean(0)
        variance = 0.9 * variance + 0.1 * hidden.var(0, ddof=1)
        hidden = np.tanh((hidden - hidden.mean(0)) / np.sqrt(hidden.var(0) + 1e-5))
        output = hidden @ np.asarray(model.network.head_weight).T + model.network.head_bias
        state = normalizer.target_mean + normalizer.target_std * output
        np.testing.assert_allclose(found.mean[j], state, atol=1e-3)
    np.testing.assert_allclose(running[0].mean, mean, atol=1e-4)
    np.testing.assert_allclose(running[0].variance, variance, rtol=1e-3)
    moved = dataclasses.replace(model, statistics=running)
    one = (array(0, 0, 2), array(0, 0))
    assert not np.allclose(moved.predict(*one).mean, model.predict(*one).mean)
