"""What is known of a system is checked before anything is fitted, also against its log."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import pytest
from tests import cart

from farstep.errors import DataWarning, FarstepError
from farstep.systems.registry import system


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": lambda *step: float(step[0][0])}, "the reward .* is no function of JAX arrays"),
        (
            {"reward": lambda *step: step[0]},
            r"the reward .* gives \(3,\), but the shape must be \(\)",
        ),
        ({"terminated": lambda *step: step[0] > 1}, "the terminated .* gives"),
        ({"reset": lambda key: key}, "the reset .* gives"),
        ({"reset": lambda: 0.0}, "the reset .* must take a random key"),
        ({"reward": lambda state: state[0]}, r"the reward .* must take \(state, action, next_stat"),
        ({"reward": lambda *step: step[2][7]}, "uses a state or action that it has not: index 7"),
        ({"angles": ((0, 3),)}, "beyond the 3 states"),
    ],
)
def test_known_parts_are_checked_before_anything_is_fitted(changes, said):
    known = system("pendulum-swingup")
    known.check_known_parts()
    with pytest.raises(FarstepError, match=said):
        dataclasses.replace(known, **changes).check_known_parts()


def test_a_function_in_another_wrapping_is_as_good():
    def simple(state):
        return -jnp.square(state[0])

    @functools.wraps(simple)
    def reward(state, action, next_state):
        del state, action
        return simple(next_state)

    dataclasses.replace(cart.CART, reward=reward).check_known_parts()


def test_a_reward_without_a_value_is_found_in_the_log():
    def logarithm(state, action, next_state):
        del state, action
        return jnp.log(0.5 - next_state[0])

    known = dataclasses.replace(cart.CART, reward=logarithm)
    data = cart.data()
    _, after = data.transitions()
    wrong = np.flatnonzero(after[:, 0] >= 0.5)
    episode, step = divmod(int(wrong[0]), 20)
    said = rf"not finite at {len(wrong)} of 80 .*, the first in episode {episode}, step {step}\."
    with pytest.raises(FarstepError, match=said):
        known.rewards_of(data)


def test_actions_of_other_units_are_said():
    cart.CART.check_actions(cart.data())
    signals = dataclasses.replace(cart.SIGNALS, action_low=(-0.02,), action_high=(0.01,))
    with pytest.warns(DataWarning, match=r"'force' is -1.*all that system 'cart' allows an agent"):
        dataclasses.replace(cart.CART, signals=signals).check_actions(cart.data())
