"""The networks of SAC: a squashed Gaussian actor, two critics, and their observation scale."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.models.network import draw_linear
from farstep.systems.network_policy import LOG_STD_RANGE

_SQUASH_EPSILON = 1e-6
"""Keeps the density of a squashed action finite, as in Stable-Baselines3."""
_LARGE = 20.0
"""Root mean square above which a dimension is standardised; other libraries standardise none."""


class Linear(NamedTuple):
    """Weight and bias of one layer."""

    weight: Float[Array, "n m"]
    bias: Float[Array, " m"]


Layers: TypeAlias = tuple[Linear, ...]
"""A network, with ReLU between its layers."""


def create_layers(key: PRNGKeyArray, sizes: Sequence[int]) -> Layers:
    """Draw a network with these sizes, from its inputs to its outputs."""
    keys = jax.random.split(key, len(sizes) - 1)
    return tuple(
        Linear(*draw_linear(k, n, m)) for k, n, m in zip(keys, sizes[:-1], sizes[1:], strict=True)
    )


def forward(layers: Layers, x: Float[Array, "*batch n"]) -> Float[Array, "*batch m"]:
    """Return the network's output."""
    *hidden, last = layers
    for layer in hidden:
        x = jax.nn.relu(x @ layer.weight + layer.bias)
    return x @ last.weight + last.bias


def action_distribution(
    actor: Layers, observations: Float[Array, "*batch d"]
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]:
    """Return mean and log standard deviation of the action before it is squashed."""
    mean, log_std = jnp.split(forward(actor, observations), 2, axis=-1)
    return mean, jnp.clip(log_std, *LOG_STD_RANGE)


def squashed_sample(
    mean: Array, log_std: Array, noise: Float[Array, "*batch k"]
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch"]]:
    """Return a = tanh(μ + σ ε), in (−1, 1), and its log density.

    log π(a) = Σ_i [ −ε_i²/2 − log σ_i − log(2π)/2 − log(1 − a_i² + 1e-6) ]
    """
    action = jnp.tanh(mean + jnp.exp(log_std) * noise)
    normal = -0.5 * jnp.square(noise) - log_std - 0.5 * jnp.log(2 * jnp.pi)
    squash = jnp.log(1 - jnp.square(action) + _SQUASH_EPSILON)
    return action, (normal - squash).sum(axis=-1)


def values(
    critics: tuple[Layers, Layers], states: Float[Array, "b d"], actions: Float[Array, "b k"]
) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
    """Return both critics' Q(s, a)."""
    x = jnp.concatenate([states, actions], axis=-1)
    first, second = (forward(critic, x)[:, 0] for critic in critics)
    return first, second


class ObservationScale(NamedTuple):
    """Mean and unit of each observation, for networks on systems in units of thousands."""

    mean: Float[Array, " d"]
    unit: Float[Array, " d"]

    @classmethod
    def of(cls, mean: Float[Array, " d"], std: Float[Array, " d"]) -> "ObservationScale":
        """Standardise dimensions with a root mean square above 20; leave the others as they are."""
        large = jnp.sqrt(jnp.square(mean) + jnp.square(std)) > _LARGE
        return cls(jnp.where(large, mean, 0.0), jnp.where(large, std, 1.0))

    @classmethod
    def identity(cls, dimensions: int) -> "ObservationScale":
        """Return the scale that changes nothing."""
        return cls(jnp.zeros(dimensions), jnp.ones(dimensions))

    def scaled(self, observations: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Return observations as the networks take them."""
        return (observations - self.mean) / self.unit

    def converted(self, layers: Layers, other: "ObservationScale") -> Layers:
        """Return a network for observations in another scale with the same outputs.

        Outputs are the same but for rounding. Inputs after the observations, such as actions, are
        not scaled.
        """
        first, *others = layers
        observations, rest = jnp.split(first.weight, [len(self.mean)])
        bias = first.bias + ((other.mean - self.mean) / self.unit) @ observations
        weight = jnp.concatenate([observations * (other.unit / self.unit)[:, None], rest])
        return (Linear(weight, bias), *others)
