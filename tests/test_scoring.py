import dataclasses
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.linear import LinearDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.scoring.blocks import BLOCK, SubTrajectories
from farstep.scoring.calibration import calibration, gaussian_crps
from farstep.scoring.errors import errors, mean_r_squared, r_squared
from farstep.scoring.score import Score
from farstep.scoring.trajectories import trajectories


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


def test_the_root_mean_squared_error_is_in_the_states_own_units():
    """States that grow by 0.5 a step, and a model that says they stay: off by 0.5 j after j."""
    steps = np.arange(20.0)[:, None] * 0.5
    data = Episodes.from_list([Episode(steps, np.zeros((19, 1)))])
    found = errors([_persistence(1)], data, 4).rmse
    np.testing.assert_allclose(found[0, :, 0], 0.5 * np.arange(1, 5), rtol=1e-6)


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


def _scaled(factor: float, log_std: float = -np.inf) -> LinearDynamics:
    return dataclasses.replace(
        LinearDynamics.zeros(2, 1), state_matrix=factor * jnp.eye(2), log_std=jnp.full(2, log_std)
    )


def test_bias_and_variance_add_up_to_the_mean_error():
    found = errors([_scaled(1.0), _scaled(0.9), _scaled(1.02)], _data(), 6)
    np.testing.assert_allclose(
        found.bias + found.spread, found.errors.mean(axis=1), rtol=1e-4, atol=1e-3
    )
    assert (found.spread > 0).all()
    np.testing.assert_array_equal(errors([_scaled(1.0)], _data(), 6).spread, 0)


def test_bias_and_variance_are_estimated_without_bias():
    rng = np.random.default_rng(3)
    data = Episodes.from_list([Episode(np.array([[1.0, 1.0], [2.0, 2.0]]), np.zeros((1, 1)))] * 3)
    found = [
        errors([_scaled(1 + 0.1 * float(x)) for x in rng.normal(size=2)], data, 1)
        for _ in range(150)
    ]
    # Predictions of 1 + 0.1 x for a target of 2: bias² 1, variance 0.01, three times each.
    assert np.mean([one.bias for one in found]) == pytest.approx(3.0, rel=0.03)
    assert np.mean([one.spread for one in found]) == pytest.approx(0.03, rel=0.25)


def test_an_ensembles_members_are_compared_each_on_its_own_rollout():
    members = [_scaled(1.0), _scaled(0.9)]
    joined, apart = errors([Ensemble.of(members)], _data(), 6), errors(members, _data(), 6)
    np.testing.assert_allclose(joined.spread, apart.spread, rtol=1e-5)
    np.testing.assert_allclose(joined.bias, apart.bias, rtol=1e-5)
    mixed = errors([_scaled(0.95)], _data(), 6)
    np.testing.assert_allclose(joined.errors, mixed.errors, rtol=1e-4)


def test_targets_are_also_taken_without_noise_where_they_are_known():
    clean = np.sin(np.arange(200.0) / 9)[:, None]
    noisy = clean + np.random.default_rng(0).normal(scale=0.3, size=clean.shape)
    data = Episodes.from_list([Episode(noisy, np.zeros((199, 1)), clean_states=clean)])
    found = errors([_persistence(1)], data, 3)
    assert found.r_squared.shape == (2, 1, 3, 1)
    for kind, states in enumerate((noisy, clean)):
        sums = ((states[2:] - noisy[:-2]) ** 2).sum()
        variation = ((states[2:] - states[2:].mean()) ** 2).sum()
        assert found.r_squared[kind, 0, 1, 0] == pytest.approx(1 - sums / variation, abs=1e-4)


def test_crps_is_the_integral_that_defines_it():
    from scipy.stats import norm

    grid = np.linspace(-12, 12, 200_001)
    for z in (-2.5, 0.0, 0.4, 3.0):
        gap = np.square(norm.cdf(grid) - (grid >= z))
        assert float(gaussian_crps(jnp.array(z))) == pytest.approx(
            np.trapezoid(gap, grid), abs=1e-4
        )


def test_a_model_that_knows_its_noise_is_calibrated_at_every_horizon():
    rng, scale = np.random.default_rng(1), 0.2
    steps = np.cumsum(rng.normal(scale=scale, size=(6001, 2)), axis=0)
    data = Episodes.from_list([Episode(steps, np.zeros((6000, 1)))])
    found = calibration(_scaled(1.0, np.log(scale)), data, 12)
    assert found is not None
    np.testing.assert_allclose(found.coverage[0], 0.5, atol=0.06)
    np.testing.assert_allclose(found.coverage[1], 0.9, atol=0.04)
    assert found.coverage[1].mean() == pytest.approx(0.9, abs=0.02)
    # The expected CRPS of a Gaussian is σ/√π, and σ grows with the root of the horizon.
    expected = scale * np.sqrt(np.arange(1, 13) / np.pi) * (1 / steps.std(axis=0)).mean()
    np.testing.assert_allclose(found.crps, expected, rtol=0.12)
    sure = calibration(_scaled(1.0, np.log(scale / 10)), data, 12)
    assert sure is not None
    assert sure.coverage[1].max() < 0.25
    assert (sure.crps > found.crps).all()
    assert calibration(_scaled(1.0), data, 12) is None


def test_calibration_of_a_direct_model_is_at_its_own_horizons():
    rng = np.random.default_rng(4)
    states = np.cumsum(rng.normal(size=(3001, 2)), axis=0)
    data = Episodes.from_list([Episode(states, np.zeros((3000, 1)))])
    direct = dataclasses.replace(
        _scaled(1.0, float(np.log(2.0))), stride=4, action_matrix=jnp.zeros((2, 4))
    )
    found = calibration(direct, data, 12)
    assert found is not None
    assert found.coverage.shape == (2, 3)
    np.testing.assert_allclose(found.coverage[1], 0.9, atol=0.05)


def test_calibration_reaches_as_far_as_the_longest_episode():
    rng = np.random.default_rng(4)
    walks = [np.cumsum(rng.normal(size=(steps + 1, 2)), axis=0) for steps in (900, 1000)]
    data = Episodes.from_list([Episode(walk, np.zeros((len(walk) - 1, 1))) for walk in walks])
    found = calibration(_scaled(1.0, 0.0), data, 1000)
    assert found is not None
    assert np.isfinite(found.coverage).all() and np.isfinite(found.crps).all()


def test_a_constant_that_is_not_exact_in_binary_is_still_constant():
    states = np.stack([np.full(400, 0.1), np.random.default_rng(0).normal(size=400)], axis=1)
    data = Episodes.from_list([Episode(states, np.zeros((399, 1)))])
    found = calibration(_scaled(1.0, 0.0), data, 4)
    assert found is not None
    assert found.crps.max() < 2
    assert np.isnan(errors([_scaled(1.0)], data, 4).r_squared[..., 0]).all()


def _score(r2: np.ndarray) -> Score:
    return Score("model", "model", np.arange(1, r2.shape[1] + 1), r2[..., None])


def test_growth_rate_and_thresholds_follow_from_r_squared():
    error = 0.05 * 1.07 ** np.arange(1, 51)
    score = _score(1 - error[None] ** 2)
    assert score.growth_rate == pytest.approx(0.07, rel=1e-6)
    assert score.falls_below(0.9) == int(np.argmax(1 - error**2 < 0.9)) + 1
    assert score.falls_below(-100) is None
    assert score.mean_r2[0] == pytest.approx(float((1 - error**2).mean()))
    assert np.isnan(_score(np.ones((1, 5))).growth_rate)


def test_intervals_are_students_and_absent_for_one_seed():
    values = np.array([[0.5, 0.9], [0.7, 0.9], [0.9, 0.9]])
    score = _score(values)
    mean, half = score.at(1)
    assert mean == pytest.approx(0.7)
    assert half == pytest.approx(2.919986 * 0.2 / np.sqrt(3), rel=1e-5)
    assert np.isnan(_score(values[:1]).at(1)[1])
    assert np.isnan(score.at(7)[0])
    assert json.loads(json.dumps(score.to_json(), allow_nan=False))["seeds"] == 3


def test_blocks_have_one_size_and_count_every_sub_trajectory_once():
    blocks = list(SubTrajectories(_data(), 9))
    assert {block.targets.shape for block in blocks} == {(1, BLOCK, 9, 2)}
    counted = sum(np.asarray(block.inside).sum(axis=0) for block in blocks)
    np.testing.assert_array_equal(counted, [_data().num_windows(j) for j in range(1, 10)])


def test_a_few_trajectories_start_where_they_say():
    data = _data()
    found = trajectories({"still": _persistence(2)}, data, 20, count=2)
    assert found.truth.shape == (2, 21, 2)
    for place, truth in zip(found.places, found.truth, strict=True):
        episode, step = (int(text) for text in re.findall(r"\d+", place))
        np.testing.assert_allclose(truth, data[episode].states[step : step + 21], rtol=1e-6)
    still = found.imagined["still"]
    np.testing.assert_array_equal(still.steps, np.arange(1, 21))
    assert still.std is not None
    np.testing.assert_array_equal(still.mean[0], np.repeat(found.truth[0, :1], 20, axis=0))
