"""The networks of SAC: a squashed Gaussian actor and two critics, 2×256 ReLU."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.dynamics.network import draw_linear
from farstep.policy import LOG_STD_RANGE

_SQUASH_EPSILON = 1e-6
"""Keeps the density of a squashed action finite, as in Stable-Baselines3."""


class Linear(NamedTuple):
    """One layer's numbers."""

    weight: Float[Array, "n m"]
    bias: Float[Array, " m"]


Layers: TypeAlias = tuple[Linear, ...]
"""A network; ReLU between its layers."""


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
    actor: Layers, states: Float[Array, "*batch d"]
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]:
    """Return mean and log standard deviation of the action before it is squashed."""
    mean, log_std = jnp.split(forward(actor, states), 2, axis=-1)
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
