"""Recorded states that imagined episodes start from."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.programs import room_for


class StartStates(eqx.Module):
    """States to draw from, in an array with room for more."""

    states: Float[Array, "capacity d"]
    count: Int[Array, ""]
    """How many there are; what comes after them is filled with zeros and never drawn."""

    @classmethod
    def of(cls, states: Float[np.ndarray, "m d"]) -> "StartStates":
        """Hold these states."""
        padded = np.pad(states, ((0, room_for(len(states)) - len(states)), (0, 0)))
        return cls(jnp.asarray(padded, jnp.float32), jnp.array(len(states), jnp.int32))

    def draw(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        """Return one of them, each as likely as the others."""
        return self.states[jax.random.randint(key, (), 0, self.count)]
