"""Models of dynamics: target, projection, bounds, direct models, ensembles."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.linear import LinearDynamics
from farstep.dynamics.network import NetworkShape
from farstep.dynamics.network_dynamics import LOG_STD_RANGE, Form, NetworkDynamics
from farstep.dynamics.scaling import Scaling, deviation
from farstep.episodes import Episode, Episodes
from farstep.rollout import rollout


def _episodes() -> Episodes:
    rng = np.random.default_rng(0)
    return Episodes.from_list(
        [
            Episode(rng.normal(size=(31, 3)) * [1, 10, 0] + [0, 5, 2], rng.normal(size=(30, 2)))
            for _ in range(4)
        ]
    )


def _network(stride: int = 1, **form: object) -> NetworkDynamics:
    target = form.get("target", "next")
    scaling = Scaling.of(_episodes(), str(target), stride)
    shape = NetworkShape(width=16, dropout=0.0, normalisation="none")
    chosen = Form(network=shape, **form)  # type: ignore[arg-type]
    return NetworkDynamics.create(jax.random.key(0), scaling, chosen, stride, 0.1)


def test_scaling_is_of_the_training_data_and_a_still_dimension_keeps_its_unit():
    data = _episodes()
    scaling = Scaling.of(data, "delta", 1)
    np.testing.assert_allclose(scaling.state_mean, data.states.mean(0), rtol=1e-5)
    np.testing.assert_allclose(scaling.state_std[:2], data.states.std(0)[:2], rtol=1e-5)
    assert scaling.state_std[2] == 1.0
    changes = np.concatenate([np.diff(episode.states, axis=0) for episode in data])
    np.testing.assert_allclose(scaling.target_std[:2], changes.std(0)[:2], rtol=1e-5)
    inputs = jax.vmap(scaling.inputs)(
        jnp.asarray(data.states[:-4], jnp.float32), jnp.asarray(data.actions, jnp.float32)
    )
    np.testing.assert_allclose(inputs.std(axis=0)[:2], 1.0, rtol=0.05)


def test_delta_adds_to_the_state_what_next_predicts_whole():
    state, action = jnp.array([0.3, 4.0, 2.0]), jnp.array([0.1, -0.2])
    for target in ("next", "delta"):
        model = _network(target=target)
        silent = dataclasses.replace(model, network=jax.tree.map(jnp.zeros_like, model.network))
        mean = silent.predict(state, action).mean
        expected = model.scaling.target_mean + (state if target == "delta" else 0)
        np.testing.assert_allclose(mean, expected, rtol=1e-5)


def test_projection_puts_pairs_on_the_circle():
    model, action = _network(angles=((0, 1),)), jnp.zeros(2)
    mean = model.predict(jnp.array([3.0, 4.0, 2.0]), action).mean
    assert float(mean[0] ** 2 + mean[1] ** 2) == pytest.approx(1.0, abs=1e-5)
    free = _network().predict(jnp.array([0.6, 0.8, 2.0]), action).mean
    assert float(mean[0] / mean[1]) == pytest.approx(float(free[0] / free[1]), rel=1e-4)
    # A sample leaves the circle; fed back, it is put there again.
    again = model.predict(jnp.array([0.6, 0.8, 2.0]), action).mean
    np.testing.assert_allclose(mean, again, rtol=1e-5)


def test_bounds_keep_states_near_the_training_range():
    model = _network(bounds=0.1)
    low, high = model.scaling.state_low, model.scaling.state_high
    low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
    far = dataclasses.replace(
        model, network=dataclasses.replace(model.network, head_bias=jnp.array([1e4, -1e4, 0.0]))
    )
    mean = far.predict(jnp.zeros(3), jnp.zeros(2)).mean
    np.testing.assert_allclose(mean[:2], [high[0], low[1]], rtol=1e-5)
    outside, edge = jnp.array([100.0, -1000.0, 2.0]), jnp.array([high[0], low[1], 2.0])
    np.testing.assert_array_equal(
        model.predict(outside, jnp.zeros(2)).mean, model.predict(edge, jnp.zeros(2)).mean
    )


def test_a_learned_deviation_stays_in_its_range_and_a_fixed_one_is_fixed():
    model = _network(learned_std=True)
    far = dataclasses.replace(
        model, network=dataclasses.replace(model.network, head_bias=jnp.full(6, 1e4))
    )
    log_std = far.predict(jnp.zeros(3), jnp.zeros(2)).log_std
    np.testing.assert_allclose(
        log_std - jnp.log(model.scaling.target_std), LOG_STD_RANGE[1], atol=1e-3
    )
    fixed = _network().predict(jnp.zeros(3), jnp.zeros(2)).log_std
    np.testing.assert_allclose(jnp.exp(fixed), 0.1 * model.scaling.target_std, rtol=1e-5)


def test_a_direct_model_takes_its_actions_at_once_and_is_composed():
    model = _network(stride=5)
    state, actions = jnp.zeros(3), jnp.arange(20.0).reshape(10, 2)
    states = rollout(model, state, actions, jax.random.key(0)).mean
    assert states.shape == (2, 3)
    first = model.predict(state, actions[:5].ravel()).mean
    np.testing.assert_allclose(states[0], first, rtol=1e-5)
    np.testing.assert_allclose(states[1], model.predict(first, actions[5:].ravel()).mean, rtol=1e-5)


def _constant(value: float) -> LinearDynamics:
    return dataclasses.replace(
        LinearDynamics.zeros(1, 1), offset=jnp.array([value]), log_std=jnp.zeros(1)
    )


def test_an_ensemble_predicts_the_mixtures_mean_and_variance():
    ensemble = Ensemble.of([_constant(-1.0), _constant(3.0)])
    assert ensemble.size == 2
    mean, log_std = ensemble.predict(jnp.zeros(1), jnp.zeros(1))
    assert float(mean[0]) == pytest.approx(1.0)
    assert float(jnp.exp(2 * log_std[0])) == pytest.approx(1.0 + 4.0, rel=1e-5)


@pytest.mark.parametrize("choice", ["step", "rollout"])
def test_an_ensemble_chooses_members_by_step_or_by_rollout(choice: str):
    ensemble = Ensemble.of([_constant(0.0), _constant(1.0)], choice)  # type: ignore[arg-type]
    keys = jax.random.split(jax.random.key(0), 200)

    def states(dynamics: Dynamics, key: jax.Array) -> jax.Array:
        return rollout(dynamics, jnp.zeros(1), jnp.zeros((10, 1)), key).mean[:, 0]

    chosen = np.asarray(jax.vmap(states, in_axes=(None, 0))(ensemble, keys))
    assert set(np.unique(chosen)) == {0.0, 1.0}
    assert chosen.mean() == pytest.approx(0.5, abs=0.12)
    changes = (np.diff(chosen, axis=1) != 0).mean()
    assert changes == (0.0 if choice == "rollout" else pytest.approx(0.5, abs=0.06))


def test_what_does_not_vary_is_divided_by_one():
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0), np.zeros(1000)], axis=1)
    assert 0 < values[:, 0].std() < 1e-15  # of equal numbers
    np.testing.assert_allclose(deviation(values), [1.0, np.arange(1000).std(), 1.0])
