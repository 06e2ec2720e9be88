"""What every model of dynamics is: (state, action) → a Gaussian over a later state."""

import abc
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Memory: TypeAlias = Any
"""What a model carries from one composition to the next: a pytree, None for most."""


class Gaussian(NamedTuple):
    """A diagonal Gaussian over states, in the state's own units."""

    mean: Float[Array, "*batch d"]
    log_std: Float[Array, "*batch d"]

    def sample(self, key: PRNGKeyArray) -> Float[Array, "*batch d"]:
        """Draw one, so that gradients flow into mean and standard deviation."""
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_std) * noise


class Dynamics(eqx.Module):
    """A pure model of dynamics; a pytree, batched by `jax.vmap`."""

    stride: eqx.AbstractVar[int]
    """Steps that one prediction spans: 1, or h for the direct model p̂_h."""

    @abc.abstractmethod
    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the state after `stride` steps; `action` is all their actions, flattened."""

    def begin(self, key: PRNGKeyArray) -> Memory:
        """Return what a rollout starts with."""
        del key

    def step(
        self,
        memory: Memory,
        state: Float[Array, " d"],
        action: Float[Array, " k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, Memory]:
        """Return one composition of a rollout, and what it hands to the next."""
        del key
        return self.predict(state, action), memory
