"""What an agent's networks measure states in: no unit of a machine's keeps it from learning."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from cart import CART, TINY, B, data, linear, reward
from farstep.agents.imagined import ImaginedTraining
from farstep.agents.networks import Layers, create_layers, forward, values
from farstep.agents.train import train
from farstep.agents.units import Units
from farstep.episodes import Episode, Episodes
from farstep.imagination.imagine import Imagination, imagine
from farstep.model import Model
from farstep.systems.system import never


def test_what_is_usual_is_left_alone():
    mean, deviation = jnp.array([0.0, 3.0, 0.0, 900.0, 300.0]), jnp.array([1.0, 4.0, 0.01, 50.0, 2])
    units = Units.of(mean, deviation)
    np.testing.assert_array_equal(units.center, [0, 0, 0, 900, 300])
    np.testing.assert_array_equal(units.spread, [1, 1, 1, 50, 2])


def test_a_network_in_other_units_gives_the_same():
    layers = create_layers(jax.random.key(0), (4, 16, 2))  # three states, an action
    one = Units(jnp.array([0.0, 2000.0, -3.0]), jnp.array([1.0, 700.0, 2.0]))
    other = Units(jnp.array([1.0, 0.0, 5.0]), jnp.array([1.0, 300.0, 4.0]))
    states = one.center + one.spread * jax.random.normal(jax.random.key(1), (20, 3))
    action = jax.random.normal(jax.random.key(2), (20, 1))

    def given(units: Units, network: Layers) -> Array:
        return forward(network, jnp.concatenate([units.measured(states), action], axis=1))

    expected = given(one, layers)
    for units in (other, Units.none(3)):
        np.testing.assert_allclose(given(units, one.moved(layers, units)), expected, atol=1e-5)
    np.testing.assert_array_equal(given(one, one.moved(layers, one)), expected)


def _in_units_of(size: float) -> Imagination:
    """The cart with states in other units, and the same rewards."""
    original = data()
    episodes = [
        Episode(size * one.states, one.actions, one.rewards, truncated=True) for one in original
    ]
    dynamics = linear()
    dynamics = dataclasses.replace(
        dynamics,
        action_matrix=jnp.asarray(size * B),
        log_std=dynamics.log_std + jnp.log(jnp.float32(size)),
    )

    def rewarding(state, action, next_state):
        return reward(state / size, action, next_state / size)

    system = dataclasses.replace(CART, env_id=None, reward=rewarding, terminated=never)
    told = Episodes.from_list(episodes, original.signals, "cart")
    return imagine(Model(dynamics, original.signals, "cart"), system, told)


def test_the_size_of_states_changes_nothing():
    """Powers of two, so that all is equal to the bit."""
    small, large = (train(_in_units_of(size), TINY, seed=1) for size in (2.0**10, 2.0**14))
    for one, other in zip(
        jax.tree.leaves(small.learner.actor), jax.tree.leaves(large.learner.actor), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    state = np.array([0.5, -0.25])
    np.testing.assert_allclose(
        small.policy(2.0**10 * state), large.policy(2.0**14 * state), rtol=1e-5
    )
    assert small.curve.last["imagined_return"] == large.curve.last["imagined_return"]


def test_an_agent_that_goes_on_is_put_into_the_units_of_other_data():
    began = train(_in_units_of(2.0**10), TINY, seed=0)
    others = _in_units_of(2.0**12)
    on = ImaginedTraining(others, TINY, 1, began.learner).first().learner
    np.testing.assert_allclose(on.units.spread, 4 * began.learner.units.spread, rtol=1e-5)
    states = 500 * jax.random.normal(jax.random.key(0), (20, 2))
    expected = forward(began.learner.policy, states)
    np.testing.assert_allclose(forward(on.policy, states), expected, atol=1e-4)
    actions = jnp.zeros((20, 1))
    for ours, theirs in zip(
        values(on.target_critics, on.units.measured(states), actions),
        values(began.learner.target_critics, began.learner.units.measured(states), actions),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
