"""Coverage and CRPS, against the distributions that define them."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from farstep.data.episodes import Episode, Episodes
from farstep.evaluation.calibration import calibration, gaussian_crps
from farstep.models.linear import LinearDynamics

HORIZON = 5
SCALE = 0.2


def random_walk(std: float) -> LinearDynamics:
    """Return s' = s + noise."""
    log_std = jnp.full(2, np.log(std) if std else -np.inf)
    return dataclasses.replace(LinearDynamics.zeros(2, 1), state_matrix=jnp.eye(2), log_std=log_std)


@pytest.fixture(scope="module")
def walk() -> Episodes:
    """A random walk of 6000 steps."""
    steps = np.random.default_rng(1).normal(scale=SCALE, size=(6001, 2))
    return Episodes.from_list([Episode(np.cumsum(steps, axis=0), np.zeros((6000, 1)))])


def test_crps_is_the_integral_that_defines_it():
    grid = np.linspace(-12, 12, 200_001)
    for z in (-2.5, 0.0, 0.4, 3.0):
        gap = np.square(norm.cdf(grid) - (grid >= z))
        expected = np.trapezoid(gap, grid)
        assert float(gaussian_crps(jnp.array(z))) == pytest.approx(expected, abs=1e-4)


def test_a_model_with_the_right_noise_is_calibrated_at_every_horizon(walk: Episodes):
    found = calibration(random_walk(SCALE), walk, HORIZON)
    assert found is not None
    np.testing.assert_allclose(found.coverage[0], 0.5, atol=0.06)
    np.testing.assert_allclose(found.coverage[1], 0.9, atol=0.04)
    assert found.coverage[1].mean() == pytest.approx(0.9, abs=0.02)
    # The expected CRPS of a Gaussian is σ/√π, and σ grows with the root of the horizon.
    root = np.sqrt(np.arange(1, HORIZON + 1) / np.pi)
    expected = SCALE * root * (1 / walk.observations.std(axis=0)).mean()
    np.testing.assert_allclose(found.crps, expected, rtol=0.12)
    overconfident = calibration(random_walk(SCALE / 10), walk, HORIZON)
    assert overconfident is not None
    assert overconfident.coverage[1].max() < 0.25
    assert (overconfident.crps > found.crps).all()


def test_a_model_without_uncertainty_has_no_calibration(walk: Episodes):
    assert calibration(random_walk(0.0), walk, HORIZON) is None


def test_a_fixed_horizon_model_is_calibrated_at_its_own_horizons(walk: Episodes):
    direct = dataclasses.replace(
        random_walk(SCALE * np.sqrt(5)), fixed_horizon=5, action_matrix=jnp.zeros((2, 5))
    )
    found = calibration(direct, walk, 10)
    assert found is not None
    assert found.coverage.shape == (2, 2)
    np.testing.assert_allclose(found.coverage[1], 0.9, atol=0.05)


def test_a_constant_dimension_is_left_out(walk: Episodes):
    observations = np.array(walk.observations[:400])
    observations[:, 0] = 0.1  # not exact in binary
    data = Episodes.from_list([Episode(observations, np.zeros((399, 1)))])
    found = calibration(random_walk(SCALE), data, HORIZON)
    assert found is not None
    assert found.crps.max() < 2
