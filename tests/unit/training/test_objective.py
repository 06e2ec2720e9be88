"""L_α and its gradient in closed form, on scalar systems."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.models.contract import Gaussian
from farstep.training.config import FitConfig
from farstep.training.objective import (
    CompiledConfig,
    horizon_losses,
    negative_log_likelihood,
    squared_error,
)
from farstep.training.weights import decay

PLAIN = CompiledConfig()
ONE = jnp.asarray(np.ones(1, np.float32))


def _losses(
    theta: jax.Array,
    function: Callable,
    states: np.ndarray,
    actions: np.ndarray,
    config: CompiledConfig = PLAIN,
) -> jax.Array:
    """Return L_1 … L_h of the scalar model s' = f(θ, s, a)."""

    def step(carry, state, action, key):
        del key
        mean = function(theta, state, action)
        return Gaussian(mean, jnp.full_like(mean, -1.0)), carry

    keys = jax.random.split(jax.random.key(0), len(actions))
    given = jnp.asarray(states, jnp.float32), jnp.asarray(actions, jnp.float32)
    return horizon_losses(step, None, *given, keys, ONE, config)[0].mean(axis=1)


def f(theta, s, a):
    return jnp.tanh(theta * s) + 0.3 * a


@pytest.mark.parametrize("truncate", [None, 1, 2, 3, 5, 9])
def test_the_gradient_is_the_exact_recursion(truncate: int | None):
    """ds_j/dθ = ∂f/∂θ(s_{j−1}) + ∂f/∂s(s_{j−1}) ds_{j−1}/dθ, with 0 where the gradient is cut."""
    rng = np.random.default_rng(0)
    h, theta = 6, 0.8
    alphas = rng.uniform(size=h)
    states, actions = rng.normal(size=(h + 1, 1, 1)), rng.normal(size=(h, 1, 1))
    s, ds, expected = states[0, 0, 0], 0.0, 0.0
    for j in range(1, h + 1):
        if truncate and j > 1 and (j - 1) % truncate == 0:
            ds = 0.0
        slope = 1 - np.tanh(theta * s) ** 2
        ds = slope * s + slope * theta * ds
        s = np.tanh(theta * s) + 0.3 * actions[j - 1, 0, 0]
        expected += alphas[j - 1] * 2 * (s - states[j, 0, 0]) * ds

    def total(value: jax.Array) -> jax.Array:
        config = PLAIN._replace(truncate_gradient=truncate)
        return jnp.asarray(alphas, jnp.float32) @ _losses(value, f, states, actions, config)

    assert float(jax.grad(total)(jnp.asarray(theta))) == pytest.approx(expected, rel=1e-4)


def test_the_papers_product_leaves_out_a_path():
    """The appendix's product Π df/dθ is not the gradient, already at j = 2."""
    theta, s0, target = 0.8, 0.7, 0.1
    states, actions = np.array([[[s0]], [[0.0]], [[target]]]), np.zeros((2, 1, 1))
    gradient = jax.grad(lambda value: _losses(value, f, states, actions)[1])(jnp.asarray(theta))
    s1 = np.tanh(theta * s0)
    s2 = np.tanh(theta * s1)
    product = 2 * ((1 - s1**2) * s0) * ((1 - s2**2) * s1) * (s2 - target)
    assert abs(float(gradient) - product) > 0.1


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("alphas", [(1.0,), (0.5, 0.5), (0.0, 1.0), (0.6, 0.3, 0.1), (1, 1, 1, 1)])
def test_the_gradient_vanishes_at_the_optimum_of_a_linear_system(alphas: tuple, noise: float):
    """Σ α_j E(x_{t+j} − θ^j x_t)² is a polynomial in θ, whose minimum is known."""
    rng = np.random.default_rng(0)
    h, n, a = len(alphas), 4000, 0.85
    x = a ** np.arange(h + 1)[:, None] * rng.normal(size=n)
    x = x + noise * rng.normal(size=x.shape)
    theta = np.polynomial.Polynomial([0.0, 1.0])
    polynomial = np.polynomial.Polynomial([0.0])
    for j, alpha in enumerate(alphas, start=1):
        polynomial += alpha * ((x[j] ** 2).mean() - 2 * theta**j * (x[0] * x[j]).mean())
        polynomial += alpha * theta ** (2 * j) * (x[0] ** 2).mean()
    roots = polynomial.deriv().roots()
    real = roots[(np.abs(roots.imag) < 1e-9) & (roots.real > 0)].real
    best = real[np.argmin(polynomial(real))]

    weights = jnp.asarray(alphas, jnp.float32)
    states, actions = x[:, :, None], np.zeros((h, n, 1))
    slope = jax.jit(
        jax.value_and_grad(lambda t: weights @ _losses(t, lambda t, s, _: t * s, states, actions))
    )
    for value in (best, 0.5):
        loss, gradient = (float(part) for part in slope(jnp.asarray(value, jnp.float32)))
        assert loss == pytest.approx(polynomial(value), rel=1e-3, abs=1e-6)
        assert gradient == pytest.approx(polynomial.deriv()(value), rel=1e-3, abs=1e-4)
    if noise == 0:
        assert best == pytest.approx(a, abs=1e-6)


def test_losses_computed_by_hand():
    predicted = Gaussian(*(jnp.asarray(v, jnp.float32) for v in ([1.0, 2.0], np.log([0.5, 2.0]))))
    target, scale = (jnp.asarray(v, jnp.float32) for v in ([2.0, 0.0], [2.0, 4.0]))
    expected = ((1 / 2) ** 2 + (2 / 4) ** 2) / 2
    assert float(squared_error(predicted, target, scale)) == pytest.approx(expected)
    expected = (0.5 * 2.0**2 + np.log(0.5 / 2) + 0.5 * 1.0 + np.log(2 / 4)) / 2
    assert float(negative_log_likelihood(predicted, target, scale)) == pytest.approx(expected)


def test_rematerialising_changes_no_gradient():
    states, actions = np.random.default_rng(0).normal(size=(21, 4, 1)), np.zeros((20, 4, 1))
    plain, again = (
        jax.grad(lambda value, c=config: _losses(value, f, states, actions, c).sum())(
            jnp.asarray(0.8)
        )
        for config in (PLAIN, PLAIN._replace(rematerialise=True))
    )
    assert float(again) == pytest.approx(float(plain), rel=1e-5)


def test_programs_depend_on_the_fields_that_they_use():
    config = FitConfig(weights="decay:0.5", epochs=3, seed=1)
    other = FitConfig(weights="decay:0.5", epochs=9, seed=2, width=64)
    assert CompiledConfig.of(config) == CompiledConfig.of(other)
    assert hash(CompiledConfig.of(config)) == hash(CompiledConfig.of(other))
    assert CompiledConfig.of(config).weights == decay(0.5)
    assert CompiledConfig.of(config, decay(0.9)).weights == decay(0.9)
    assert CompiledConfig.of(config) != CompiledConfig.of(
        FitConfig(weights="decay:0.5", loss="nll")
    )
