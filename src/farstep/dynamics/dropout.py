"""Dropout masks from a hashed counter.

Random bits cost as much as the network itself at these sizes. A mask needs no cryptographic
generator: hashing each unit's number with the words of the key is a few integer operations, which
XLA fuses into the layer (measured in `benchmarks/fit_speed.py`).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PRNGKeyArray, UInt32


def keep_mask(
    key: PRNGKeyArray, layer: int, shape: tuple[int, ...], rate: float
) -> Bool[Array, "..."]:
    """Return a mask that is False with probability `rate`, another for each key and layer."""
    words = jax.random.key_data(key)
    seed = _mix(words[0] ^ _mix(words[-1] + jnp.uint32(layer + 1)))
    numbers = jax.lax.iota(jnp.uint32, int(np.prod(shape))).reshape(shape)
    return _mix(_mix(numbers + seed) ^ seed) >= jnp.uint32(round(rate * 2**32))


def _mix(x: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Spread each bit over all others: the 32-bit finaliser `lowbias32` of Chris Wellons."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)
