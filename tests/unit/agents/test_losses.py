"""The losses of SAC against numbers computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.agents.config import AgentConfig
from farstep.agents.networks import Linear, squashed_sample
from farstep.agents.replay import Transitions
from farstep.agents.sac import (
    actor_loss,
    create_learner,
    critic_loss,
    targets,
    temperature_loss,
    update,
)

CONSTANT_CRITICS = (
    (Linear(jnp.zeros((2, 1)), jnp.array([3.0])),),
    (Linear(jnp.zeros((2, 1)), jnp.array([2.0])),),
)
"""Q₁ = 3 and Q₂ = 2 for every state and action."""


def batch_of(column: np.ndarray) -> Transitions:
    ones, given = jnp.ones(len(column)), jnp.asarray(column, jnp.float32)
    return Transitions(given, given, ones, given, 0 * ones, given, given)


def test_targets_by_hand():
    y = targets(
        rewards=jnp.array([1.0, 1.0]),
        terminated=jnp.array([0.0, 1.0]),
        next_values=(jnp.array([4.0, 4.0]), jnp.array([3.0, 5.0])),
        next_log_density=jnp.array([-2.0, -2.0]),
        temperature=jnp.array(0.5),
        gamma=0.9,
    )
    # 1 + 0.9 (min(4, 3) + 0.5 · 2); where the task ends, the reward alone.
    np.testing.assert_allclose(y, [1 + 0.9 * 4, 1.0], rtol=1e-6)


def test_critic_loss_by_hand():
    loss = critic_loss(CONSTANT_CRITICS, batch_of(np.zeros((2, 1))), jnp.array([1.0, 3.0]))
    assert float(loss) == pytest.approx(1.5)  # ½ [mean(4, 0) + mean(1, 1)]


def test_actor_loss_by_hand():
    actor = (Linear(jnp.zeros((1, 2)), jnp.array([0.3, np.log(0.5)])),)
    noise = np.array([0.0, 1.0])
    loss, density = actor_loss(
        actor,
        CONSTANT_CRITICS,
        batch_of(np.zeros((2, 1))),
        jnp.asarray(noise[:, None], jnp.float32),
        jnp.array(0.2),
    )
    actions = np.tanh(0.3 + 0.5 * noise)
    normal = -0.5 * noise**2 - np.log(0.5) - 0.5 * np.log(2 * np.pi)
    expected = normal - np.log(1 - actions**2 + 1e-6)
    np.testing.assert_allclose(density, expected, rtol=1e-5)
    assert float(loss) == pytest.approx(0.2 * expected.mean() - 2.0, rel=1e-5)


def test_temperature_loss_by_hand():
    density = jnp.array([1.0, -3.0])
    loss, gradient = jax.value_and_grad(temperature_loss)(jnp.array(0.7), density, -1.0)
    # −log α · mean(log π + H̄) with mean(log π) = −1 and H̄ = −1.
    assert float(loss) == pytest.approx(0.7 * 2.0)
    assert float(gradient) == pytest.approx(2.0)


def test_the_density_of_a_squashed_action_integrates_to_one():
    noise = jnp.asarray(np.linspace(-6, 6, 20001)[:, None], jnp.float32)
    action, log_density = squashed_sample(jnp.array([0.4]), jnp.array([-0.5]), noise)
    mass = np.trapezoid(np.exp(np.asarray(log_density)), np.asarray(action)[:, 0])
    assert mass == pytest.approx(1.0, abs=1e-3)


def test_an_update_keeps_a_fixed_temperature_and_averages_the_actor():
    config = AgentConfig(net_arch=(8,), learning_rate=1e-2, ent_coef=0.3, ema_decay=0.9)
    learner = create_learner(jax.random.key(0), 1, 1, config)
    batch = batch_of(np.linspace(-1.0, 1.0, 4)[:, None])
    once = jax.jit(lambda learner, key: update(learner, batch, key, config))
    expected = learner.actor
    for number, keep in enumerate([1 / 10, 2 / 11, 3 / 12]):  # the average warms up
        learner, losses = once(learner, jax.random.key(number))
        assert float(losses.temperature) == pytest.approx(0.3)
        expected = jax.tree.map(
            lambda old, new, k=keep: k * old + (1 - k) * new, expected, learner.actor
        )
    assert float(learner.log_temperature) == pytest.approx(np.log(0.3))
    for ours, theirs in zip(
        jax.tree.leaves(learner.evaluated), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
