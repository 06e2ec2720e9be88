"""R², its parts and sub-trajectories, against rollouts computed by hand."""

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.evaluation.example_rollouts import example_rollouts
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared, rollout_errors
from farstep.evaluation.subtrajectories import BLOCK, SubTrajectories
from farstep.models.ensemble import Ensemble
from farstep.models.linear import LinearDynamics

HORIZON = 5


def scaled(factor: float) -> LinearDynamics:
    """Return s' = factor · s, without uncertainty."""
    zero = LinearDynamics.zeros(2, 1)
    return dataclasses.replace(
        zero, state_matrix=factor * jnp.eye(2), log_std=jnp.full(2, -jnp.inf)
    )


@pytest.fixture(scope="module")
def walks() -> Episodes:
    """Random walks of different lengths, with 299 starts: two blocks."""
    rng = np.random.default_rng(0)
    return Episodes.from_list(
        [
            Episode(np.cumsum(rng.normal(size=(n + 1, 2)), axis=0), np.zeros((n, 1)))
            for n in (30, 4, 265)
        ]
    )


def _by_hand(data: Episodes, matrix: np.ndarray, horizon: int) -> np.ndarray:
    """Return R²(j) of s' = M s + B a, from 1 − SSE/SST and explicit loops."""
    found = []
    for j in range(1, horizon + 1):
        targets, predictions = [], []
        for episode in data:
            for start in range(len(episode.actions) - j + 1):
                state = episode.observations[start].astype(float)
                for action in episode.actions[start : start + j]:
                    state = matrix @ state + cart.B @ action
                predictions.append(state)
                targets.append(episode.observations[start + j])
        errors = np.square(np.array(targets) - predictions).sum(axis=0)
        found.append(1 - errors / np.square(targets - np.mean(targets, axis=0)).sum(axis=0))
    return np.array(found)


def test_r_squared_has_no_horizon_off_by_one():
    """The data follow s' = A s + B a exactly, so the rollouts of any linear model are known."""
    data = cart.data(2, seed=2)
    np.testing.assert_allclose(r_squared(cart.linear(), data, HORIZON), 1.0, atol=1e-5)
    wrong = cart.A + np.array([[0.0, 0.02], [0.0, 0.05]], np.float32)
    expected = _by_hand(data, wrong, HORIZON)
    assert (np.diff(expected, axis=0) < -1e-3).all()  # each horizon has its own value
    np.testing.assert_allclose(r_squared(cart.linear(wrong), data, HORIZON), expected, atol=1e-4)


def test_a_fixed_horizon_model_is_exact_at_its_own_horizons():
    """p̂_5 of a linear system is A⁵ s + Σ A^(4−i) B a_i: the order of the actions matters."""
    power = [np.linalg.matrix_power(cart.A, i) for i in range(6)]
    direct = dataclasses.replace(
        cart.linear(power[5]),
        action_matrix=jnp.asarray(np.concatenate([power[4 - i] @ cart.B for i in range(5)], 1)),
        fixed_horizon=5,
    )
    found = r_squared(direct, cart.data(2, seed=2), 10)
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found, 1.0, atol=1e-5)


def test_r_squared_is_over_all_sub_trajectories_of_each_length(walks: Episodes):
    found = r_squared(scaled(1.0), walks, HORIZON)
    for j in range(1, HORIZON + 1):
        long_enough = [episode for episode in walks if len(episode.actions) >= j]
        targets = np.concatenate([episode.observations[j:] for episode in long_enough])
        predicted = np.concatenate([episode.observations[:-j] for episode in long_enough])
        errors = ((targets - predicted) ** 2).sum(axis=0)
        variation = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
        np.testing.assert_allclose(found[j - 1], 1 - errors / variation, atol=1e-4)


def test_blocks_have_one_size_and_count_every_sub_trajectory_once(walks: Episodes):
    blocks = list(SubTrajectories(walks, HORIZON))
    assert {block.targets.shape for block in blocks} == {(1, BLOCK, HORIZON, 2)}
    counted = sum(np.asarray(block.inside).sum(axis=0) for block in blocks)
    np.testing.assert_array_equal(counted, [walks.num_windows(j) for j in range(1, HORIZON + 1)])


def test_every_horizon_has_a_target_although_only_some_starts_are_used(walks: Episodes):
    parts = SubTrajectories(walks, 265, most=7)
    assert len(parts.starts) == 7
    assert np.asarray(next(iter(parts)).inside).sum(axis=0)[-1] == 1


def test_rmse_is_in_the_units_of_the_observations():
    """Observations that grow by 0.5 a step, and a model that says they stay."""
    steps = np.arange(42.0)[:, None] * [0.5, 2.0]
    data = Episodes.from_list([Episode(steps, np.zeros((41, 1)))])
    found = rollout_errors([scaled(1.0)], data, HORIZON).rmse
    np.testing.assert_allclose(found[0], np.arange(1, 6)[:, None] * [0.5, 2.0], rtol=1e-5)


def test_constant_dimensions_have_no_r_squared_and_divergence_is_minus_infinity():
    rising = np.stack([np.full(42, 0.1), np.arange(42.0)], axis=1)  # 0.1 is not exact in binary
    data = Episodes.from_list([Episode(rising, np.zeros((41, 1)))])
    found = r_squared(scaled(1.0), data, HORIZON)
    assert np.isnan(found[:, 0]).all()
    np.testing.assert_allclose(mean_r_squared(found), found[:, 1])
    assert r_squared(scaled(1e30), data, HORIZON)[-1, 1] == -np.inf


def test_a_horizon_that_does_not_fit_is_an_error(walks: Episodes):
    with pytest.raises(FarstepError, match="horizon"):
        r_squared(scaled(1.0), walks, 266)
    direct = dataclasses.replace(scaled(1.0), fixed_horizon=4)
    with pytest.raises(FarstepError, match="fixed_horizon"):
        r_squared(direct, walks, 10)


def test_bias_and_variance_add_up_to_the_mean_error(walks: Episodes):
    found = rollout_errors([scaled(1.0), scaled(0.9), scaled(1.02)], walks, HORIZON)
    mean_error = found.sse.mean(axis=1)
    np.testing.assert_allclose(found.bias + found.variance, mean_error, rtol=1e-4, atol=1e-3)
    assert (found.variance > 0).all()
    np.testing.assert_array_equal(rollout_errors([scaled(1.0)], walks, HORIZON).variance, 0)


def test_bias_and_variance_are_estimated_without_bias():
    """Predictions of 1 + 0.1 x for a target of 2: bias² 1 and variance 0.01, three times each."""
    rng = np.random.default_rng(3)
    step = Episode(np.array([[1.0, 1.0], [2.0, 2.0]]), np.zeros((1, 1)))
    data = Episodes.from_list([step] * 3)
    found = [
        rollout_errors([scaled(1 + 0.1 * float(x)) for x in rng.normal(size=2)], data, 1)
        for _ in range(150)
    ]
    assert np.mean([one.bias for one in found]) == pytest.approx(3.0, rel=0.03)
    assert np.mean([one.variance for one in found]) == pytest.approx(0.03, rel=0.25)


def test_an_ensembles_members_are_compared_each_on_its_own_rollout(walks: Episodes):
    members = [scaled(1.0), scaled(0.9)]
    joined = rollout_errors([Ensemble.of(members)], walks, HORIZON)
    apart = rollout_errors(members, walks, HORIZON)
    np.testing.assert_allclose(joined.variance, apart.variance, rtol=1e-5)
    np.testing.assert_allclose(joined.bias, apart.bias, rtol=1e-5)
    mixed = rollout_errors([scaled(0.95)], walks, HORIZON)
    np.testing.assert_allclose(joined.sse, mixed.sse, rtol=1e-4)


def test_targets_without_noise_are_used_where_they_are_known():
    clean = np.sin(np.arange(200.0)[:, None] / [9, 5])
    noisy = clean + np.random.default_rng(0).normal(scale=0.3, size=clean.shape)
    data = Episodes.from_list([Episode(noisy, np.zeros((199, 1)), clean_observations=clean)])
    found = rollout_errors([scaled(1.0)], data, HORIZON)
    assert found.r_squared.shape == (2, 1, HORIZON, 2)
    for kind, observations in enumerate((noisy, clean)):
        errors = ((observations[2:] - noisy[:-2]) ** 2).sum(axis=0)
        variation = ((observations[2:] - observations[2:].mean(axis=0)) ** 2).sum(axis=0)
        expected = 1 - errors / variation
        np.testing.assert_allclose(found.r_squared[kind, 0, 1], expected, atol=1e-4)


def test_example_rollouts_start_where_they_say(walks: Episodes):
    found = example_rollouts({"still": scaled(1.0)}, walks, HORIZON, count=2)
    assert found.observed.shape == (2, HORIZON + 1, 2)
    for place, observed in zip(found.starts, found.observed, strict=True):
        episode, step = (int(text) for text in re.findall(r"\d+", place))
        recorded = walks[episode].observations[step : step + HORIZON + 1]
        np.testing.assert_allclose(observed, recorded, rtol=1e-6)
    still = found.predicted["still"]
    np.testing.assert_array_equal(still.steps, np.arange(1, HORIZON + 1))
    assert still.std is None
    np.testing.assert_array_equal(still.mean[0], np.repeat(found.observed[0, :1], HORIZON, axis=0))
