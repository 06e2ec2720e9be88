"""What an agent's networks measure states in: no unit of a machine's keeps it from learning."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from cart import CART, TINY, A, B, data, linear, reward
from farstep.agents.networks import create_layers, forward
from farstep.agents.train import train
from farstep.agents.units import Units
from farstep.episodes import Episode, Episodes
from farstep.imagination.imagine import Imagination, imagine
from farstep.model import Model
from farstep.systems.system import never


def test_what_is_usual_is_left_alone():
    mean, deviation = jnp.array([0.0, 3.0, 0.0, 900.0, 300.0]), jnp.array([1.0, 4.0, 0.01, 50.0, 1])
    units = Units.of(mean, deviation)
    np.testing.assert_array_equal(units.center, [0, 0, 0, 900, 300])
    np.testing.assert_array_equal(units.spread, jnp.array([1, 1, 0.01, 50, 1]))


def test_a_network_takes_its_units_in():
    layers = create_layers(jax.random.key(0), (3, 16, 2))
    units = Units(jnp.array([0.0, 2000.0, -3.0]), jnp.array([1.0, 700.0, 0.02]))
    states = units.center + units.spread * jax.random.normal(jax.random.key(1), (20, 3))
    expected = forward(layers, units.measured(states))
    np.testing.assert_allclose(forward(units.taken_in(layers), states), expected, atol=1e-5)
    same = Units.none(3).taken_in(layers)
    np.testing.assert_array_equal(forward(same, states), forward(layers, states))


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


def test_an_agent_goes_on_in_the_units_it_began_with():
    began = train(_in_units_of(2.0**10), TINY, seed=0)
    others = imagine(Model(linear(A), data().signals, "cart"), CART, data(seed=1))
    on = train(others, TINY, seed=1, start=began)
    np.testing.assert_array_equal(on.learner.units.spread, began.learner.units.spread)
    assert on.learner.units.spread.min() > 100
