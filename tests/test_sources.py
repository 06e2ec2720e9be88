"""Functions of users' own are told apart by their source and by the values they use."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, data, model
from farstep.agents.config import AgentConfig
from farstep.agents.training import identity
from farstep.imagination.imagine import imagine
from farstep.sources import source_of

WANTED = 1.0


def _power(exponent):
    def weights(losses):
        return losses**exponent

    return weights


def _near(goal):
    def reward(state, action, next_state):
        return -jnp.abs(next_state[0] - goal)

    return reward


def _helper(state):
    return state * WANTED


def _uses_helper(state):
    return _helper(state) + 1


def _even(n):
    return n == 0 or _odd(n - 1)


def _odd(n):
    return n != 0 and _even(n - 1)


class _Plain:
    def __init__(self, goal):
        self.goal = goal

    def __call__(self, state):
        return state - self.goal


@dataclasses.dataclass
class _Field:
    goal: float

    def __call__(self, state):
        return state - self.goal


class _Module(eqx.Module):
    goal: jax.Array

    def __call__(self, state):
        return state - self.goal


@pytest.mark.parametrize(
    "make",
    [
        _power,
        _near,
        _Plain,
        _Field,
        lambda value: _Module(jnp.full(3, value)),
        lambda value: partial(_power(2.0), value),
        lambda value: jax.jit(_power(value)),
        lambda value: _power(np.full(3, value)),
        lambda value: _power(_power(value)),
        lambda value: lambda losses, exponent=value: losses**exponent,
    ],
)
def test_the_values_that_a_function_uses_count(make):
    assert source_of(make(0.5)) == source_of(make(0.5))
    assert source_of(make(0.5)) != source_of(make(2.0))


def test_a_constant_of_the_module_counts_also_through_another_function(monkeypatch):
    before = source_of(_uses_helper)
    monkeypatch.setattr("test_sources.WANTED", 2.5)
    assert source_of(_uses_helper) != before


def test_functions_that_call_each_other_have_an_end():
    assert "_odd" in source_of(_even) and source_of(None) == "none"


def test_agents_of_other_rewards_are_others():
    def agent(goal: float) -> str:
        known = dataclasses.replace(CART, reward=_near(goal))
        return identity(imagine(model(), known, data()), AgentConfig(), seed=0)

    assert agent(1.0) == agent(1.0) != agent(90.0)
