"""The recursion against mathematics: linear systems, where p̂^j is known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.contract import Gaussian
from farstep.dynamics.linear import LinearDynamics, fit_linear
from farstep.episodes import Episode, Episodes
from farstep.objective import Objective, horizon_losses
from farstep.rollout import compose, observe, rollout

A = np.array([[0.9, 0.2], [-0.1, 0.8]])
B = np.array([[0.5], [1.0]])


def linear() -> LinearDynamics:
    return LinearDynamics(
        state_matrix=jnp.asarray(A, jnp.float32),
        action_matrix=jnp.asarray(B, jnp.float32),
        offset=jnp.zeros(2),
        log_std=jnp.full(2, -2.0),
    )


def test_composing_a_linear_system_is_a_power_of_its_matrix():
    rng = np.random.default_rng(0)
    state, actions = rng.normal(size=2), rng.normal(size=(12, 1))
    predicted = rollout(linear(), jnp.asarray(state), jnp.asarray(actions), jax.random.key(0)).mean
    for j in range(1, 13):
        exact = np.linalg.matrix_power(A, j) @ state + sum(
            np.linalg.matrix_power(A, j - 1 - i) @ B @ actions[i] for i in range(j)
        )
        np.testing.assert_allclose(predicted[j - 1], exact, rtol=1e-4, atol=1e-5)


def test_the_horizon_is_not_off_by_one():
    """Data of a linear system and its own model: no error at any horizon, but one step off."""
    rng = np.random.default_rng(1)
    states, actions = [rng.normal(size=2)], rng.normal(size=(6, 1))
    for action in actions:
        states.append(A @ states[-1] + B @ action)
    window = jnp.asarray(np.stack(states), jnp.float32)

    def losses(window: jax.Array) -> np.ndarray:
        keys = jax.random.split(jax.random.key(0), 6)
        step, given = linear().step, jnp.asarray(actions, jnp.float32)
        return np.asarray(
            horizon_losses(step, None, window, given, keys, jnp.ones(2), Objective())[0]
        )

    np.testing.assert_allclose(losses(window), 0, atol=1e-9)
    shifted = jnp.concatenate([window[:1], window[:-1]])
    assert (losses(shifted) > 1e-3).all()


def test_a_closed_form_fit_finds_the_system():
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


def test_samples_have_the_spread_that_is_predicted():
    """The variance of p̂^j under sampling is Σ A^i Σ A^iᵀ; each step's own is fixed."""
    count, steps = 4000, 4
    keys = jax.random.split(jax.random.key(3), count)
    model = linear()

    def last(key: jax.Array) -> Gaussian:
        return rollout(model, jnp.zeros(2), jnp.zeros((steps, 1)), key, "sample")

    means = np.asarray(jax.vmap(last)(keys).mean)[:, -1]
    noise = np.exp(-2.0) ** 2 * np.eye(2)
    powers = [np.linalg.matrix_power(A, i) for i in range(1, steps)]
    expected = np.sum([power @ noise @ power.T for power in powers], axis=0)
    np.testing.assert_allclose(np.cov(means.T), expected, atol=0.1 * expected.max())


@pytest.mark.parametrize("unroll", [1, 3, True])
def test_unrolling_changes_nothing(unroll: int | bool):
    model, keys = linear(), jax.random.split(jax.random.key(0), 7)
    actions = jnp.linspace(-1, 1, 7)[:, None]
    expected, _ = compose(model.step, None, jnp.ones(2), actions, keys)
    got, _ = compose(model.step, None, jnp.ones(2), actions, keys, unroll=unroll)
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-6)


def test_memory_goes_from_one_composition_to_the_next():
    def step(memory, state, action, key):
        return Gaussian(state + memory, jnp.zeros_like(state)), memory + 1

    keys = jax.random.split(jax.random.key(0), 4)
    states, memory = compose(step, jnp.zeros(()), jnp.zeros(1), jnp.zeros((4, 1)), keys)
    np.testing.assert_array_equal(states.mean[:, 0], [0, 1, 3, 6])
    assert memory == 4


def _readings(seed: int, noise: float, runs: int = 400, steps: int = 40):
    """Return true states, noisy readings and actions of an unstable scalar system, many runs."""
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(steps, runs, 1)).astype(np.float32)
    states = [rng.normal(size=(runs, 1)).astype(np.float32)]
    for action in actions:
        states.append(_unstable(states[-1], action))
    true = np.stack(states)
    return true, true + noise * rng.normal(size=true.shape).astype(np.float32), actions


def _unstable(state, action):
    return 1.04 * state + 0.1 * action


def test_an_observer_of_exact_readings_is_exact():
    true, readings, actions = _readings(0, noise=0.0)
    found = observe(_unstable, jnp.asarray(readings), jnp.asarray(actions), 0.15)
    np.testing.assert_allclose(found, true[-1], rtol=1e-4)


def test_an_observer_leaves_the_part_of_the_noise_that_its_gain_says():
    """e' = (1 − K) ρ e + K n: its variance is K² σ² / (1 − (1 − K)² ρ²) in the end."""
    true, readings, actions = _readings(1, noise=0.5)
    found = observe(_unstable, jnp.asarray(readings), jnp.asarray(actions), 0.15)
    expected = 0.5 * 0.15 / np.sqrt(1 - (0.85 * 1.04) ** 2)
    assert np.std(np.asarray(found) - true[-1]) == pytest.approx(expected, rel=0.15)
    # Of two readings of a system that stands still it is their mean.
    two = observe(jnp.add, jnp.array([[1.0], [3.0]]), jnp.zeros((1, 1)), 0.15)
    np.testing.assert_allclose(two, [2.0])
