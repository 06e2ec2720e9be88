"""Fit a reward head: regress recorded rewards on observation, action and next observation."""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, UInt32

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.models.network import Network, NetworkShape, forward
from farstep.models.normalizer import deviation
from farstep.models.reward import RewardHead
from farstep.runtime.compilation import room_for
from farstep.runtime.progress import Bar
from farstep.training.config import FitConfig
from farstep.training.optimiser import along_cosine, optimiser

_KEY = 2**31 - 1
"""Folded into the seed's key; members fold in 0, 1, …"""


def fit_reward(train: Episodes, validation: Episodes, config: FitConfig) -> RewardHead:
    """Fit a network of the model's width, depth and activation; keep the best epoch.

    It has neither normalisation layers nor dropout, and normalises its inputs and output itself.
    Batch size, learning rate, schedule, patience, epochs and model steps are those of the fit.
    """
    (x, r), (held_x, held_r) = _pairs(train), _pairs(validation)
    shape = NetworkShape(config.width, config.depth, config.activation, "none", 0.0)
    key, create_key = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), _KEY))
    head = RewardHead.create(create_key, x.shape[1], shape)
    stats = [np.asarray(part) for part in (x, r)]
    means, stds = zip(*((p.mean(axis=0), deviation(p)) for p in stats), strict=True)
    head = dataclasses.replace(
        head,
        input_mean=jnp.asarray(means[0], jnp.float32),
        input_std=jnp.asarray(stds[0], jnp.float32),
        reward_mean=jnp.asarray(means[1], jnp.float32),
        reward_std=jnp.asarray(stds[1], jnp.float32),
    )
    known, held = (
        Pairs.of((a - means[0]) / stds[0], (b - means[1]) / stds[1])
        for a, b in ((x, r), (held_x, held_r))
    )
    size = min(config.batch_size, len(x))
    updates = len(x) // size
    epochs = config.max_epochs(updates)
    total = jnp.asarray(epochs * updates, jnp.float32) if config.schedule == "cosine" else None
    adam = optimiser(config.learning_rate, config.max_grad_norm)
    network, state = head.network, adam.init(head.network)  # pyright: ignore[reportArgumentType]
    best, lowest, waited = network, np.inf, 0
    with Bar("reward", epochs, "epochs") as bar:
        for epoch in range(epochs):
            drawn = jax.random.bits(jax.random.fold_in(key, epoch), known.x.shape[:1])
            batches = Batches(drawn, *(jnp.array(n, jnp.int32) for n in (updates, epoch * updates)))
            network, state = _epoch((network, state), head, known, batches, size, adam, total)
            loss = float(_held_out(network, head, held))
            waited = 0 if loss < lowest else waited + 1
            best, lowest = (network, loss) if waited == 0 else (best, lowest)
            bar.advance(f"loss {loss:.3g}")
            if waited >= (config.patience or epochs):
                break
    if not np.isfinite(lowest):
        raise FarstepError("the reward could not be fitted: its loss is not finite.")
    return dataclasses.replace(head, network=best)


def _pairs(episodes: Episodes) -> tuple[np.ndarray, np.ndarray]:
    """Return (observation, action, next observation) in one row each, and the rewards."""
    if episodes.rewards is None:
        raise FarstepError(
            "the data have no rewards to learn; record them, or give the system a reward function."
        )
    before, after = episodes.transitions()
    joined = np.concatenate([before, episodes.actions, after], axis=1)
    return joined.astype(np.float64), episodes.rewards.astype(np.float64)


class Pairs(NamedTuple):
    """Inputs and targets of the network, padded so that growing data share a program."""

    x: Float[Array, "room i"]
    y: Float[Array, " room"]
    size: Int[Array, ""]
    """The number of pairs; the rest is padding."""

    @classmethod
    def of(cls, x: Float[np.ndarray, "n i"], y: Float[np.ndarray, " n"]) -> "Pairs":
        """Pad inputs and targets."""
        more = room_for(len(x)) - len(x)
        inputs, outputs = np.pad(x, ((0, more), (0, 0))), np.pad(y, (0, more))
        count = jnp.array(len(x), jnp.int32)
        return cls(jnp.asarray(inputs, jnp.float32), jnp.asarray(outputs, jnp.float32), count)


class Batches(NamedTuple):
    """The batches of one epoch."""

    drawn: UInt32[Array, " room"]
    """A random number for each pair, which gives their order."""
    updates: Int[Array, ""]
    done: Int[Array, ""]
    """Updates in earlier epochs."""


def _errors(
    network: Network, head: RewardHead, x: Float[Array, "n i"], y: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Return squared errors, in units of the rewards' standard deviation."""
    return jnp.square(forward(network, head.statistics, x, head.shape)[:, 0] - y)


@jax.jit
def _held_out(network: Network, head: RewardHead, held: Pairs) -> Float[Array, ""]:
    """Return the mean squared error of the pairs without the padding."""
    exists = jnp.arange(len(held.y)) < held.size
    return jnp.where(exists, _errors(network, head, held.x, held.y), 0.0).sum() / held.size


@partial(jax.jit, static_argnames=("size", "adam"))
def _epoch(
    trained: tuple[Network, optax.OptState],
    head: RewardHead,
    known: Pairs,
    batches: Batches,
    size: int,
    adam: optax.GradientTransformation,
    total: Float[Array, ""] | None,
) -> tuple[Network, optax.OptState]:
    """Make the updates of an epoch; the number of pairs is an argument of the program."""
    missing = jnp.arange(len(known.y)) >= known.size
    order = jnp.lexsort((batches.drawn, missing))  # the padding comes last

    def once(number: Int[Array, ""], carry: tuple) -> tuple:
        network, state = carry
        index = jax.lax.dynamic_slice_in_dim(order, number * size, size)
        gradient = jax.grad(lambda n: _errors(n, head, known.x[index], known.y[index]).mean())(
            network
        )
        changes, state = adam.update(gradient, state, network)
        changes = along_cosine(changes, batches.done + number, total)
        return optax.apply_updates(network, changes), state

    return jax.lax.fori_loop(0, batches.updates, once, trained)
