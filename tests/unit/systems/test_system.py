"""The known parts of a system are checked before they are used, also against its data."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.errors import DataWarning, FarstepError
from farstep.systems.registry import get_system


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reward": lambda *step: float(step[0][0])}, r"the reward .*JAX"),
        ({"reward": lambda *step: step[0]}, r"the reward .*\(2,\).*\(\)"),
        ({"terminated": lambda *step: step[0] > 1}, r"the terminated .*\(2,\)"),
        ({"reset": lambda key: key}, r"the reset"),
        ({"reset": lambda: 0.0}, r"the reset .* a random key"),
        ({"reward": lambda observation: observation[0]}, r"\(observation, action, next_observ"),
        ({"reward": lambda *step: step[2][7]}, r"the reward .*index 7"),
        ({"angles": ((0, 3),)}, r"angles"),
    ],
)
def test_known_parts_must_fit_the_signals(changes: dict, message: str):
    cart.CART.check_known_parts()
    with pytest.raises(FarstepError, match=message):
        dataclasses.replace(cart.CART, **changes).check_known_parts()


def test_a_wrapped_function_is_checked_by_its_own_arguments():
    def simple(observation):
        return -jnp.square(observation[0])

    @functools.wraps(simple)
    def reward(observation, action, next_observation):
        del observation, action
        return simple(next_observation)

    wrapped = dataclasses.replace(cart.CART, reward=reward)
    wrapped.check_known_parts()
    data = cart.data()
    expected = -np.square(data.transitions()[1][:, 0])
    np.testing.assert_allclose(wrapped.rewards_of(data), expected, rtol=1e-5)


def test_a_reward_that_is_not_finite_is_located():
    def logarithm(observation, action, next_observation):
        del observation, action
        return jnp.log(0.5 - next_observation[0])

    known = dataclasses.replace(cart.CART, reward=logarithm)
    data = cart.data()
    _, after = data.transitions()
    wrong = np.flatnonzero(after[:, 0] >= 0.5)
    episode, step = divmod(int(wrong[0]), 20)
    message = rf"at {len(wrong)} of 80 .*episode {episode} at step {step}\."
    with pytest.raises(FarstepError, match=message):
        known.rewards_of(data)


def test_an_unknown_reward_is_an_error():
    plain = get_system("MountainCarContinuous-v0")
    with pytest.raises(FarstepError, match="reward of system 'MountainCarContinuous-v0'"):
        plain.rewards_of(cart.data())


def test_actions_outside_the_systems_bounds_cause_a_warning():
    cart.CART.check_actions(cart.data())
    signals = dataclasses.replace(cart.SIGNALS, action_low=(-0.02,), action_high=(0.01,))
    with pytest.warns(DataWarning, match=r"'force' is -1.*'cart'.*-0\.02 to 0\.01"):
        dataclasses.replace(cart.CART, signals=signals).check_actions(cart.data())
