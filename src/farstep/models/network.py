"""The network: hidden layers with normalisation and dropout, and a linear output."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt32

from farstep.choices import Activation, Normalisation

ACTIVATIONS = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
}
_EPSILON = 1e-5
_MOMENTUM = 0.1
"""Share of a batch's statistics in each update of the running ones, as in PyTorch."""


@dataclass(frozen=True)
class NetworkShape:
    """The description of a network; its parameters are a `Network`."""

    width: int = 256
    depth: int = 2
    activation: Activation = "tanh"
    normalisation: Normalisation = "batch"
    dropout: float = 0.1
    residual: bool = False
    """Whether each hidden layer but the first is added to the one before it."""


class Layer(NamedTuple):
    """Parameters of one hidden layer; `scale` and `shift` belong to its normalisation."""

    weight: Float[Array, "n m"]
    bias: Float[Array, " m"]
    scale: Float[Array, " m"]
    shift: Float[Array, " m"]


class Network(eqx.Module):
    """The trained parameters."""

    layers: tuple[Layer, ...]
    head_weight: Float[Array, "o m"]
    """Transposed: the product that gives its gradient is then four times as fast."""
    head_bias: Float[Array, " o"]


class Statistics(NamedTuple):
    """Running mean and variance of one batch-normalised layer, used outside training."""

    mean: Float[Array, " m"]
    variance: Float[Array, " m"]


def create_network(
    key: PRNGKeyArray, inputs: int, outputs: int, shape: NetworkShape
) -> tuple[Network, tuple[Statistics, ...]]:
    """Draw a new network and its first statistics; weights are uniform within ±1/√inputs."""
    sizes = [inputs, *[shape.width] * shape.depth]
    keys = jax.random.split(key, shape.depth + 1)
    layers = tuple(
        Layer(*draw_linear(k, n, m), scale=jnp.ones(m), shift=jnp.zeros(m))
        for k, n, m in zip(keys[:-1], sizes[:-1], sizes[1:], strict=True)
    )
    statistics = tuple(Statistics(jnp.zeros(m), jnp.ones(m)) for m in sizes[1:])
    weight, bias = draw_linear(keys[-1], sizes[-1], outputs)
    return Network(layers, weight.T, bias), statistics


def forward(
    network: Network,
    statistics: tuple[Statistics, ...],
    x: Float[Array, "*batch n"],
    shape: NetworkShape,
) -> Float[Array, "*batch o"]:
    """Return the output with running statistics and without dropout."""
    for number, (layer, running) in enumerate(zip(network.layers, statistics, strict=True)):
        hidden = _activate(_normalise(_affine(x, layer, shape), layer, running, shape), shape)
        x = x + hidden if shape.residual and number else hidden
    return x @ network.head_weight.T + network.head_bias


def forward_in_training(
    network: Network,
    statistics: tuple[Statistics, ...],
    x: Float[Array, "batch n"],
    shape: NetworkShape,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "batch o"], tuple[Statistics, ...]]:
    """Return the output with this batch's statistics and dropout, and new running statistics."""
    updated = []
    for number, (layer, running) in enumerate(zip(network.layers, statistics, strict=True)):
        hidden = _affine(x, layer, shape)
        batch = _batch_statistics(hidden) if shape.normalisation == "batch" else running
        hidden = _activate(_normalise(hidden, layer, batch, shape), shape)
        if shape.dropout:
            keep = keep_mask(key, number, hidden.shape, shape.dropout)
            hidden = jnp.where(keep, hidden / (1 - shape.dropout), 0.0)
        x = x + hidden if shape.residual and number else hidden
        updated.append(_running(running, batch, len(x)))
    return x @ network.head_weight.T + network.head_bias, tuple(updated)


def draw_linear(key: PRNGKeyArray, n: int, m: int) -> tuple[Array, Array]:
    """Return the weight (n, m) and bias of a new layer, uniform within ±1/√n as in PyTorch."""
    limit = n**-0.5
    weight_key, bias_key = jax.random.split(key)
    return _uniform(weight_key, (n, m), limit), _uniform(bias_key, (m,), limit)


def _uniform(key: PRNGKeyArray, shape: tuple[int, ...], limit: float) -> Array:
    """Return what `jax.random.uniform` would, with fewer compiled programs.

    `jax.random.uniform` compiles a program for every shape, which takes seconds for the layers of
    a model and an agent. A number depends on its position alone (JAX's partitionable Threefry, the
    default), so a few sizes serve all shapes.
    """
    count, size = math.prod(shape), 1024
    while size < count:
        size *= 8
    drawn = jax.random.uniform(key, (size,), minval=-limit, maxval=limit)
    return drawn[:count].reshape(shape)


def _affine(x: Array, layer: Layer, shape: NetworkShape) -> Array:
    """Multiply; add no bias before batch normalisation, which would subtract it again."""
    x = x @ layer.weight
    return x if shape.normalisation == "batch" else x + layer.bias


def _activate(x: Array, shape: NetworkShape) -> Array:
    return ACTIVATIONS[shape.activation](x)


def _normalise(x: Array, layer: Layer, statistics: Statistics, shape: NetworkShape) -> Array:
    if shape.normalisation == "none":
        return x
    mean, variance = statistics
    if shape.normalisation == "layer":
        mean = x.mean(axis=-1, keepdims=True)
        variance = jnp.square(x - mean).mean(axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(variance + _EPSILON) * layer.scale
    return x * scale + (layer.shift - mean * scale)


def _batch_statistics(x: Float[Array, "batch m"]) -> Statistics:
    mean = x.mean(axis=0)
    # One pass over the batch: E[x²] − E[x]² costs a third less than the variance about the mean.
    return Statistics(mean, jnp.maximum(jnp.square(x).mean(axis=0) - jnp.square(mean), 0.0))


def _running(running: Statistics, batch: Statistics, size: int) -> Statistics:
    """Move the running statistics towards a batch's, with its unbiased variance."""
    mean, variance = jax.lax.stop_gradient(batch)
    variance = variance * (size / max(size - 1, 1))
    return Statistics(
        (1 - _MOMENTUM) * running.mean + _MOMENTUM * mean,
        (1 - _MOMENTUM) * running.variance + _MOMENTUM * variance,
    )


def keep_mask(
    key: PRNGKeyArray, layer: int, shape: tuple[int, ...], rate: float
) -> Bool[Array, "..."]:
    """Return a dropout mask, False with probability `rate`; it depends on key and layer.

    Random bits cost as much as the network itself at these sizes, and a mask needs no
    cryptographic generator. Hashing each unit's number with the words of the key takes a few
    integer operations, which XLA fuses into the layer.
    """
    words = jax.random.key_data(key)
    seed = _mix(words[0] ^ _mix(words[-1] + jnp.uint32(layer + 1)))
    numbers = jax.lax.iota(jnp.uint32, int(np.prod(shape))).reshape(shape)
    return _mix(_mix(numbers + seed) ^ seed) >= jnp.uint32(round(rate * 2**32))


def _mix(x: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Spread each bit over all others: the 32-bit finaliser `lowbias32` of Chris Wellons."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)
