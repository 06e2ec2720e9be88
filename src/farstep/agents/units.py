"""What an agent's networks measure states in: a machine's own units may be thousands."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from farstep.agents.networks import Layers, Linear

_USUAL = (0.05, 20.0)
"""Typical sizes that are left as they are, as agents of others leave all."""


class Units(NamedTuple):
    """An origin and a unit for each state."""

    center: Float[Array, " d"]
    spread: Float[Array, " d"]

    @classmethod
    def of(cls, mean: Float[Array, " d"], deviation: Float[Array, " d"]) -> "Units":
        """Return mean and deviation of states whose typical size is unusual; of others 0 and 1."""
        size = jnp.sqrt(jnp.square(mean) + jnp.square(deviation))
        unusual = (size < _USUAL[0]) | (size > _USUAL[1])
        return cls(jnp.where(unusual, mean, 0.0), jnp.where(unusual, deviation, 1.0))

    @classmethod
    def none(cls, num_states: int) -> "Units":
        """Return the states' own."""
        return cls(jnp.zeros(num_states), jnp.ones(num_states))

    def measured(self, states: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Return states as the networks take them."""
        return (states - self.center) / self.spread

    def taken_in(self, layers: Layers) -> Layers:
        """Return the network that gives the same of states in their own units."""
        first, *others = layers
        weight = first.weight / self.spread[:, None]
        return (Linear(weight, first.bias - self.center @ weight), *others)
