"""Observations are standardised where their values are large, so that agents learn in any unit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import cart
from farstep.agents.agent import Agent
from farstep.agents.model_env_trainer import ModelEnvTrainer
from farstep.agents.networks import Linear, ObservationScale, forward, values
from farstep.agents.train_agent import train_agent
from farstep.data.episodes import Episode, Episodes
from farstep.model_env.model_env import ModelEnv
from farstep.models.model import Model

SMALL, LARGE = 2.0**10, 2.0**14
"""Powers of two, so that results are equal to the bit."""


def in_units(size: float) -> ModelEnv:
    """Return the cart with observations in other units, and a reward that does not see them."""
    original = cart.data()
    episodes = [
        Episode(size * one.observations, one.actions, one.rewards, truncated=True)
        for one in original
    ]
    dynamics = dataclasses.replace(
        cart.linear(),
        action_matrix=jnp.asarray(size * cart.B),
        log_std=jnp.asarray(np.log(size * np.array([0.1, 0.2])), jnp.float32),
    )
    system = dataclasses.replace(cart.CART, reward=reward_of_actions, terminated=large_is_no_end)
    data = Episodes.from_list(episodes, original.signals, "cart")
    return ModelEnv(Model(dynamics, original.signals, "cart"), system, data)


def reward_of_actions(observation, action, next_observation):
    del observation, next_observation
    return -jnp.square(action[0])


def large_is_no_end(observation, action, next_observation):
    del observation, action, next_observation
    return jnp.array(False)


def trained(size: float) -> Agent:
    return train_agent(in_units(size), cart.TINY, seed=1)


def test_only_large_observations_are_standardised():
    mean, std = np.array([0, 3, 0, 900, 300.0]), np.array([1, 4, 0.01, 50, 2])
    scale = ObservationScale.of(jnp.asarray(mean, jnp.float32), jnp.asarray(std, jnp.float32))
    np.testing.assert_array_equal(scale.mean, [0, 0, 0, 900, 300])
    np.testing.assert_array_equal(scale.unit, [1, 1, 1, 50, 2])


def test_a_converted_network_has_the_same_outputs():
    rng = np.random.default_rng(0)
    layers = tuple(  # of three observations and an action
        Linear(jnp.asarray(rng.normal(size=(n, m)), jnp.float32), jnp.zeros(m))
        for n, m in ((4, 16), (16, 2))
    )
    one, other = (
        ObservationScale(jnp.array(mean), jnp.array(unit))
        for mean, unit in (([0.0, 2000.0, -3.0], [1.0, 700.0, 2.0]), ([1.0, 0, 5], [1.0, 300, 4]))
    )
    observations = one.mean + one.unit * rng.normal(size=(20, 3)).astype(np.float32)
    action = rng.normal(size=(20, 1)).astype(np.float32)

    def output(scale: ObservationScale, network: tuple[Linear, ...]) -> np.ndarray:
        inputs = np.concatenate([scale.scaled(observations), action], axis=1)
        return np.asarray(forward(network, jnp.asarray(inputs)))

    expected = output(one, layers)
    for scale in (other, ObservationScale.identity(3)):
        np.testing.assert_allclose(output(scale, one.converted(layers, scale)), expected, atol=1e-3)
    np.testing.assert_array_equal(output(one, one.converted(layers, one)), expected)


def test_the_unit_of_observations_does_not_change_the_agent():
    small, large = trained(SMALL), trained(LARGE)
    assert small.learner is not None and large.learner is not None
    for one, other in zip(
        jax.tree.leaves(small.learner.actor), jax.tree.leaves(large.learner.actor), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    observation = np.array([0.5, -0.25])
    np.testing.assert_allclose(
        small.policy.predict(SMALL * observation),
        large.policy.predict(LARGE * observation),
        rtol=1e-5,
    )
    assert small.curve.last["imagined_return"] == large.curve.last["imagined_return"]


def test_an_agent_that_continues_is_converted_to_the_scale_of_other_data():
    start = trained(SMALL).learner
    assert start is not None
    new = ModelEnvTrainer(in_units(4 * SMALL), cart.TINY, 1, start).initial_state().learner
    np.testing.assert_allclose(new.scale.unit, 4 * start.scale.unit, rtol=1e-5)
    observations = 500 * jax.random.normal(jax.random.key(0), (20, 2))
    expected = forward(start.unscaled, observations)
    np.testing.assert_allclose(forward(new.unscaled, observations), expected, atol=1e-4)
    actions = jnp.zeros((20, 1))
    for ours, theirs in zip(
        values(new.target_critics, new.scale.scaled(observations), actions),
        values(start.target_critics, start.scale.scaled(observations), actions),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
