"""Rewards in a model environment: a known function, or a learned head."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.models.network import Network, NetworkShape, Statistics, create_network, forward


class KnownReward(eqx.Module):
    """A function of state, action and next state."""

    function: Callable[[Array, Array, Array], Array] = eqx.field(static=True)

    def __call__(
        self, state: Float[Array, " d"], action: Float[Array, " k"], next_state: Float[Array, " d"]
    ) -> Float[Array, ""]:
        """Return the reward of one step."""
        return self.function(state, action, next_state)


class RewardHead(eqx.Module):
    """A network of state, action and next state, with normalisation of its own."""

    network: Network
    statistics: tuple[Statistics, ...]
    input_mean: Float[Array, " n"]
    input_std: Float[Array, " n"]
    reward_mean: Float[Array, ""]
    reward_std: Float[Array, ""]
    shape: NetworkShape = eqx.field(static=True)

    @classmethod
    def create(cls, key: PRNGKeyArray, inputs: int, shape: NetworkShape) -> "RewardHead":
        """Draw a new head of `inputs` numbers, which does not scale them yet."""
        network, statistics = create_network(key, inputs, 1, shape)
        return cls(
            network=network,
            statistics=statistics,
            input_mean=jnp.zeros(inputs),
            input_std=jnp.ones(inputs),
            reward_mean=jnp.zeros(()),
            reward_std=jnp.ones(()),
            shape=shape,
        )

    def __call__(
        self, state: Float[Array, " d"], action: Float[Array, " k"], next_state: Float[Array, " d"]
    ) -> Float[Array, ""]:
        """Return the reward of one step."""
        x = (jnp.concatenate([state, action, next_state]) - self.input_mean) / self.input_std
        scaled = forward(self.network, self.statistics, x, self.shape)[0]
        return self.reward_mean + self.reward_std * scaled
