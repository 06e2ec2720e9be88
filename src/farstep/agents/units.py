"""What an agent's networks measure states in: a machine's own units may be thousands."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from farstep.agents.networks import Layers, Linear

_USUAL = 20.0
"""Typical sizes up to it are left as they are, as agents of others leave all."""


class Units(NamedTuple):
    """An origin and a unit for each state."""

    center: Float[Array, " d"]
    spread: Float[Array, " d"]

    @classmethod
    def of(cls, mean: Float[Array, " d"], deviation: Float[Array, " d"]) -> "Units":
        """Return mean and deviation of states whose typical size is large; of others 0 and 1."""
        large = jnp.sqrt(jnp.square(mean) + jnp.square(deviation)) > _USUAL
        return cls(jnp.where(large, mean, 0.0), jnp.where(large, deviation, 1.0))

    @classmethod
    def none(cls, num_states: int) -> "Units":
        """Return the states' own."""
        return cls(jnp.zeros(num_states), jnp.ones(num_states))

    def measured(self, states: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Return states as the networks take them."""
        return (states - self.center) / self.spread

    def moved(self, layers: Layers, to: "Units") -> Layers:
        """Return the network that gives the same of states in other units, but for rounding.

        What it takes beside the states, such as actions, comes after them and stays.
        """
        first, *others = layers
        states, rest = jnp.split(first.weight, [len(self.center)])
        bias = first.bias + ((to.center - self.center) / self.spread) @ states
        weight = jnp.concatenate([states * (to.spread / self.spread)[:, None], rest])
        return (Linear(weight, bias), *others)
