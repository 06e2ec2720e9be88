"""L_α and its gradient in closed form, on scalar systems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.choices import truncation
from farstep.dynamics.contract import Gaussian
from farstep.errors import FarstepError
from farstep.objective import (
    Objective,
    horizon_losses,
    negative_log_likelihood,
    squared_error,
)

_PLAIN = Objective()


def _losses(theta: jax.Array, function, states, actions, objective=_PLAIN) -> jax.Array:
    """L_1 … L_h of a scalar model s' = f(θ, s, a)."""

    def step(memory, state, action, key):
        mean = function(theta, state, action)
        return Gaussian(mean, jnp.full_like(mean, -1.0)), memory

    keys = jax.random.split(jax.random.key(0), actions.shape[0])
    losses, _ = horizon_losses(step, None, states, actions, keys, jnp.ones(1), objective)
    return losses.mean(axis=1)


def f(theta, s, a):
    return jnp.tanh(theta * s) + 0.3 * a


@pytest.mark.parametrize("truncate", [None, 1, 2, 3, 5, 9])
def test_the_gradient_is_the_exact_recursion(truncate: int | None):
    """ds_j/dθ = ∂f/∂θ(s_{j-1}) + ∂f/∂s(s_{j-1}) ds_{j-1}/dθ, set to 0 where it is cut."""
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
        given = jnp.asarray(states), jnp.asarray(actions)
        return jnp.asarray(alphas) @ _losses(value, f, *given, Objective(truncate=truncate))

    assert float(jax.grad(total)(jnp.asarray(theta))) == pytest.approx(expected, rel=1e-4)


def test_the_papers_product_leaves_out_a_path():
    """The appendix's product Π df/dθ is not the gradient already at j = 2."""
    theta, s0, target = 0.8, 0.7, 0.1
    states, actions = jnp.array([[[s0]], [[0.0]], [[target]]]), jnp.zeros((2, 1, 1))

    def second(value: jax.Array) -> jax.Array:
        return _losses(value, f, states, actions)[1]

    s1 = np.tanh(theta * s0)
    s2 = np.tanh(theta * s1)
    product = 2 * ((1 - s1**2) * s0) * ((1 - s2**2) * s1) * (s2 - target)
    assert abs(float(jax.grad(second)(jnp.asarray(theta))) - product) > 0.1


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("alphas", [(1.0,), (0.5, 0.5), (0.0, 1.0), (0.6, 0.3, 0.1), (1, 1, 1, 1)])
def test_the_optimum_of_a_linear_scalar_system_is_recovered(alphas: tuple, noise: float):
    """Σ α_j E(x_{t+j} − θ^j x_t)² is a polynomial in θ; descending L_α finds its minimum."""
    rng = np.random.default_rng(0)
    h, n, a = len(alphas), 4000, 0.85
    s = [rng.normal(size=n)]
    for _ in range(h):
        s.append(a * s[-1])
    x = np.stack(s) + noise * rng.normal(size=(h + 1, n))
    polynomial = np.polynomial.Polynomial([0.0])
    theta = np.polynomial.Polynomial([0.0, 1.0])
    for j, alpha in enumerate(alphas, start=1):
        polynomial += alpha * (theta ** (2 * j) * (x[0] ** 2).mean())
        polynomial -= alpha * 2 * theta**j * (x[0] * x[j]).mean()
    roots = polynomial.deriv().roots()
    real = roots[(np.abs(roots.imag) < 1e-9) & (roots.real > 0)].real
    best = real[np.argmin(polynomial(real))]

    weights = jnp.asarray(alphas, jnp.float32)
    states, actions = jnp.asarray(x[:, :, None], jnp.float32), jnp.zeros((h, n, 1))
    slope = jax.jit(
        jax.value_and_grad(
            lambda t: weights @ _losses(t, lambda theta, s, _: theta * s, states, actions)
        )
    )
    value = jnp.asarray(0.5)
    for _ in range(400):
        value = value - 0.05 * slope(value)[1]
    assert float(value) == pytest.approx(best, abs=2e-3)
    if noise == 0:
        assert best == pytest.approx(a, abs=1e-6)


def test_losses_on_hand_computed_values():
    predicted = Gaussian(jnp.array([1.0, 2.0]), jnp.log(jnp.array([0.5, 2.0])))
    target, scale = jnp.array([2.0, 0.0]), jnp.array([2.0, 4.0])
    assert float(squared_error(predicted, target, scale)) == pytest.approx(
        ((1 / 2) ** 2 + (2 / 4) ** 2) / 2
    )
    expected = (0.5 * 2.0**2 + np.log(0.5 / 2) + 0.5 * 1.0 + np.log(2 / 4)) / 2
    assert float(negative_log_likelihood(predicted, target, scale)) == pytest.approx(expected)


def test_rematerialising_changes_nothing_but_the_memory():
    rng = np.random.default_rng(0)
    states, actions = jnp.asarray(rng.normal(size=(21, 4, 1))), jnp.zeros((20, 4, 1))

    def total(value: jax.Array, objective: Objective) -> jax.Array:
        return _losses(value, f, states, actions, objective).sum()

    value = jnp.asarray(0.8)
    plain = jax.grad(total)(value, Objective())
    again = jax.grad(total)(value, Objective(rematerialise=True))
    assert float(again) == pytest.approx(float(plain), rel=1e-5)


@pytest.mark.parametrize(("text", "k"), [("full", None), ("truncated:1", 1), ("truncated:12", 12)])
def test_gradients_have_a_text_form(text: str, k: int | None):
    assert truncation(text) == k


@pytest.mark.parametrize("text", ["ful", "truncated", "truncated:0", "truncated:-1", "truncated:x"])
def test_unknown_gradients_are_errors(text: str):
    with pytest.raises(FarstepError, match="there is no gradient"):
        truncation(text)
