"""The recursion against mathematics: linear systems, where p̂^j is known exactly."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.models.contract import Gaussian
from farstep.models.linear import LinearDynamics, fit_linear
from farstep.models.rollout import action_blocks, compose, observe, rollout

A, B = np.array([[0.9, 0.2], [-0.1, 0.8]]), np.array([[0.5], [1.0]])
STEPS = 12
KEY = jax.random.key(0)


def linear() -> LinearDynamics:
    return dataclasses.replace(
        cart.linear(A.astype(np.float32)),
        action_matrix=jnp.asarray(B, jnp.float32),
        log_std=jnp.asarray(np.full(2, -2.0, np.float32)),
    )


def power(j: int) -> np.ndarray:
    return np.linalg.matrix_power(A, j)


def test_composing_a_linear_system_gives_powers_of_its_matrix():
    """p̂^j(s, a) = A^j s + Σ A^(j−1−i) B a_i at every horizon, so none is off by one."""
    rng = np.random.default_rng(0)
    state, actions = rng.normal(size=2), rng.normal(size=(STEPS, 1))
    predicted = rollout(linear(), jnp.asarray(state), jnp.asarray(actions), KEY)
    for j in range(1, STEPS + 1):
        exact = power(j) @ state + sum(power(j - 1 - i) @ B @ actions[i] for i in range(j))
        np.testing.assert_allclose(predicted.mean[j - 1], exact, rtol=1e-4, atol=1e-5)
    assert predicted.log_std.shape == (STEPS, 2)


def test_least_squares_finds_the_system():
    rng = np.random.default_rng(2)
    episodes = []
    for _ in range(3):
        states, actions = [rng.normal(size=2)], rng.normal(size=(40, 1))
        for action in actions:
            states.append(A @ states[-1] + B @ action + [0.1, -0.2])
        episodes.append(Episode(np.stack(states), actions))
    model = fit_linear(Episodes.from_list(episodes))
    np.testing.assert_allclose(model.state_matrix, A, atol=1e-5)
    np.testing.assert_allclose(model.action_matrix, B, atol=1e-5)
    np.testing.assert_allclose(model.offset, [0.1, -0.2], atol=1e-5)


def test_samples_have_the_predicted_spread():
    """The mean of p̂^4 after three samples has the covariance Σ A^i Σ A^iᵀ, i = 1 … 3."""
    count, steps = 4000, 4
    keys = jax.random.split(jax.random.key(3), count)
    state, actions = jnp.asarray(np.zeros(2)), jnp.asarray(np.zeros((steps, 1)))
    model = linear()
    last = jax.jit(jax.vmap(lambda key: rollout(model, state, actions, key, "sample").mean[-1]))
    noise = np.exp(-2.0) ** 2 * np.eye(2)
    expected = sum(power(i) @ noise @ power(i).T for i in range(1, steps))
    found = np.cov(np.asarray(last(keys)).T)
    np.testing.assert_allclose(found, expected, atol=0.1 * np.max(expected))


@pytest.mark.parametrize("unroll", [3, True])
def test_unrolling_changes_nothing(unroll: int | bool):
    model, keys = linear(), jax.random.split(KEY, 7)
    actions = jnp.asarray(np.linspace(-1, 1, 7)[:, None])
    start = jnp.asarray(np.ones(2))
    expected, _ = compose(model.step, None, start, actions, keys)
    found, _ = compose(model.step, None, start, actions, keys, unroll=unroll)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6)


def test_a_carry_goes_from_one_model_step_to_the_next():
    def step(carry, state, action, key):
        del action, key
        return Gaussian(state + carry, jnp.zeros_like(state)), carry + 1

    first, state, actions = (jnp.asarray(np.zeros(n, np.float32)) for n in ((), 1, (4, 1)))
    states, carry = compose(step, first, state, actions, jax.random.split(KEY, 4))
    np.testing.assert_array_equal(states.mean[:, 0], [0, 1, 3, 6])
    assert carry == 4


def test_action_blocks_join_the_actions_of_each_model_step_in_order():
    actions = np.arange(24).reshape(2, 6, 2)
    blocks = action_blocks(jnp.asarray(actions, jnp.float32), 3)
    np.testing.assert_array_equal(blocks, actions.reshape(2, 2, 6))


def _unstable(state, action):
    return 1.04 * state + 0.1 * action


def _observations(noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true states, noisy observations and actions of 400 runs of an unstable system."""
    rng = np.random.default_rng(0)
    actions = rng.normal(size=(40, 400, 1)).astype(np.float32)
    states = [rng.normal(size=(400, 1)).astype(np.float32)]
    for action in actions:
        states.append(_unstable(states[-1], action))
    true = np.stack(states)
    return true, true + noise * rng.normal(size=true.shape).astype(np.float32), actions


def test_an_observer_of_exact_observations_is_exact():
    true, observations, actions = _observations(0.0)
    found = observe(_unstable, jnp.asarray(observations), jnp.asarray(actions), 0.15)
    np.testing.assert_allclose(found, true[-1], rtol=1e-4)


def test_an_observer_leaves_the_share_of_the_noise_that_its_gain_gives():
    """e' = (1 − K) ρ e + K n has the stationary variance K² σ² / (1 − (1 − K)² ρ²)."""
    true, observations, actions = _observations(0.5)
    found = observe(_unstable, jnp.asarray(observations), jnp.asarray(actions), 0.15)
    expected = 0.5 * 0.15 / np.sqrt(1 - (0.85 * 1.04) ** 2)
    assert np.std(np.asarray(found) - true[-1]) == pytest.approx(expected, rel=0.15)


def test_an_observer_of_two_observations_of_a_constant_is_their_mean():
    observations, actions = (jnp.asarray(v, jnp.float32) for v in ([[1.0], [3.0]], [[0.0]]))
    np.testing.assert_allclose(observe(jnp.add, observations, actions, 0.15), [2.0])
