import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.linear import LinearDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.scoring.errors import mean_r_squared, r_squared


def _persistence(d: int) -> LinearDynamics:
    return dataclasses.replace(LinearDynamics.zeros(d, 1), state_matrix=jnp.eye(d))


def _data() -> Episodes:
    rng = np.random.default_rng(0)
    return Episodes.from_list(
        [
            Episode(np.cumsum(rng.normal(size=(n + 1, 2)), axis=0), np.zeros((n, 1)))
            for n in (30, 7, 300)
        ]
    )


def test_r_squared_is_over_all_sub_trajectories_of_each_length():
    data, horizon = _data(), 9
    scores = r_squared(_persistence(2), data, horizon)
    assert scores.shape == (9, 2)
    for j in range(1, horizon + 1):
        long_enough = [episode for episode in data if len(episode.actions) >= j]
        targets = np.concatenate([episode.states[j:] for episode in long_enough])
        predicted = np.concatenate([episode.states[:-j] for episode in long_enough])
        errors = ((targets - predicted) ** 2).sum(axis=0)
        variation = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(scores[j - 1], 1 - errors / variation, atol=1e-4)


def test_an_exact_model_scores_one_at_every_horizon():
    states = [np.array([1.0, -2.0])]
    for _ in range(60):
        states.append(np.array([[0.9, 0.3], [-0.3, 0.9]]) @ states[-1])
    data = Episodes.from_list([Episode(np.stack(states), np.zeros((60, 1)))])
    exact = dataclasses.replace(
        LinearDynamics.zeros(2, 1), state_matrix=jnp.array([[0.9, 0.3], [-0.3, 0.9]])
    )
    np.testing.assert_allclose(r_squared(exact, data, 20), 1.0, atol=1e-5)


def test_constant_dimensions_have_no_score_and_divergence_is_minus_infinity():
    data = Episodes.from_list(
        [Episode(np.stack([np.ones(21), np.arange(21.0)], 1), np.zeros((20, 1)))]
    )
    scores = r_squared(_persistence(2), data, 5)
    assert np.isnan(scores[:, 0]).all()
    np.testing.assert_allclose(mean_r_squared(scores), scores[:, 1])
    wild = dataclasses.replace(LinearDynamics.zeros(2, 1), state_matrix=1e30 * jnp.eye(2))
    assert r_squared(wild, data, 5)[-1, 1] == -np.inf


def test_a_horizon_that_does_not_fit_is_an_error():
    with pytest.raises(FarstepError, match="longer than every episode"):
        r_squared(_persistence(2), _data(), 301)
    direct = dataclasses.replace(_persistence(2), stride=4)
    with pytest.raises(FarstepError, match="spans 4 steps cannot be scored at horizon 10"):
        r_squared(direct, _data(), 10)
