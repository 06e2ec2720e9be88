"""Ensembles: the mixture's moments, and members that are drawn by step or by rollout."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.models.ensemble import Ensemble
from farstep.models.linear import LinearDynamics
from farstep.models.rollout import rollouts

ZERO = jnp.asarray(np.zeros(1, np.float32))


def _constant(value: float) -> LinearDynamics:
    offset = jnp.asarray(np.array([value], np.float32))
    return dataclasses.replace(LinearDynamics.zeros(1, 1), offset=offset)


def test_the_mean_mode_predicts_the_moments_of_the_mixture():
    ensemble = Ensemble.of([_constant(-1.0), _constant(3.0)])
    assert ensemble.size == 2
    mean, log_std = ensemble.predict(ZERO, ZERO)
    assert float(mean[0]) == pytest.approx(1.0)
    assert float(np.exp(2 * log_std[0])) == pytest.approx(1.0 + 4.0, rel=1e-5)
    np.testing.assert_allclose(ensemble.each(ZERO, ZERO).mean[:, 0], [-1.0, 3.0])
    assert float(ensemble.member(1).predict(ZERO, ZERO).mean[0]) == 3.0


@pytest.mark.parametrize("mode", ["step", "rollout"])
def test_members_are_drawn_by_step_or_by_rollout(mode: str):
    ensemble = Ensemble.of([_constant(0.0), _constant(1.0)], mode)  # pyright: ignore[reportArgumentType]
    states, actions = (jnp.asarray(np.zeros(s, np.float32)) for s in ((200, 1), (200, 10, 1)))
    found = rollouts(ensemble, states, actions, jax.random.split(jax.random.key(0), 200)).mean
    drawn = np.asarray(found)[..., 0]
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn.mean() == pytest.approx(0.5, abs=0.12)
    changes = (np.diff(drawn, axis=1) != 0).mean()
    assert changes == (0.0 if mode == "rollout" else pytest.approx(0.5, abs=0.06))
