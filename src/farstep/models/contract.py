"""Dynamics: the contract of every model, (state, action) → a Gaussian over a later state.

A state is what a model carries from step to step. For the models here it equals the observation.
"""

import abc
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Carry: TypeAlias = Any
"""Anything else that a model hands from one model step to the next: a pytree, None for most."""


class Gaussian(NamedTuple):
    """A diagonal Gaussian over states, in the units of the data."""

    mean: Float[Array, "*batch d"]
    log_std: Float[Array, "*batch d"]

    def sample(self, key: PRNGKeyArray) -> Float[Array, "*batch d"]:
        """Draw a reparameterised sample: gradients flow into mean and standard deviation."""
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_std) * noise


class Dynamics(eqx.Module):
    """A pure model of dynamics; a pytree, batched by `jax.vmap`."""

    fixed_horizon: eqx.AbstractVar[int]
    """Steps that one prediction spans: 1, or h for the paper's fixed-horizon model."""

    @abc.abstractmethod
    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Predict the state after `fixed_horizon` steps; `action` holds all their actions."""

    def initial_carry(self, key: PRNGKeyArray) -> Carry:
        """Return the carry that a rollout starts with."""
        del key

    def step(
        self,
        carry: Carry,
        state: Float[Array, " d"],
        action: Float[Array, " k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, Carry]:
        """Make one model step of a rollout; return its prediction and the next carry."""
        del key
        return self.predict(state, action), carry
