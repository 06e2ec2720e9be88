"""Fitting a reward head: a regression of recorded rewards on state, action and next state."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from farstep.dynamics.network import Network, NetworkShape, evaluate
from farstep.dynamics.reward import RewardHead
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.fitting.config import FitConfig
from farstep.fitting.optimiser import along_cosine, optimiser
from farstep.progress import Bar

_KEY = 2**31 - 1


def fit_reward(train: Episodes, validation: Episodes, config: FitConfig) -> RewardHead:
    """Fit a network of the model's width, depth and activation; the best epoch is kept.

    It has neither batch normalisation nor dropout, and its inputs and output are normalised
    apart from the model's. Batch, learning rate, its schedule, patience and epochs are the fit's;
    without epochs it takes compositions / horizon updates.
    """
    (x, r), (held_x, held_r) = _pairs(train), _pairs(validation)
    shape = NetworkShape(config.width, config.depth, config.activation, "none", 0.0)
    # Apart from the keys of the members, which are folded in from 0 on.
    key, create_key = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), _KEY))
    head = RewardHead.create(create_key, x.shape[1], shape)
    stats = [np.asarray(part) for part in (x, r)]
    means, stds = zip(*((p.mean(axis=0), _std(p)) for p in stats), strict=True)
    head = dataclasses.replace(
        head,
        input_mean=jnp.asarray(means[0], jnp.float32),
        input_std=jnp.asarray(stds[0], jnp.float32),
        reward_mean=jnp.asarray(means[1], jnp.float32),
        reward_std=jnp.asarray(stds[1], jnp.float32),
    )
    scaled = [
        (jnp.asarray((a - means[0]) / stds[0], jnp.float32), _column((b - means[1]) / stds[1]))
        for a, b in ((x, r), (held_x, held_r))
    ]
    size = min(config.batch, len(x))
    updates = len(x) // size
    epochs = config.passes(updates)
    total = jnp.asarray(epochs * updates, jnp.float32) if config.schedule == "cosine" else None
    adam = optimiser(config.learning_rate, config.clip)
    network, state = head.network, adam.init(head.network)  # pyright: ignore[reportArgumentType]
    best, lowest, waited = network, np.inf, 0
    with Bar("reward", epochs, "epochs") as bar:
        for epoch in range(epochs):
            order = jax.random.permutation(jax.random.fold_in(key, epoch), len(x))[: updates * size]
            numbers = jnp.arange(updates) + epoch * updates
            network, state = _epoch(
                (network, state), head, scaled[0], (order.reshape(-1, size), numbers), adam, total
            )
            loss = float(_loss(network, head, *scaled[1]))
            waited = 0 if loss < lowest else waited + 1
            best, lowest = (network, loss) if waited == 0 else (best, lowest)
            bar.advance(f"loss {loss:.3g}")
            if waited >= (config.patience or epochs):
                break
    if not np.isfinite(lowest):
        raise FarstepError("the reward could not be fitted: its loss is not finite.")
    return dataclasses.replace(head, network=best)


def _pairs(episodes: Episodes) -> tuple[np.ndarray, np.ndarray]:
    """Return (state, action, next state) side by side, and the rewards."""
    if episodes.rewards is None:
        raise FarstepError(
            "the data have no rewards, so none can be learned; record them, or give the system a "
            "reward function."
        )
    before, after = episodes.transitions()
    joined = np.concatenate([before, episodes.actions, after], axis=1)
    return joined.astype(np.float64), episodes.rewards.astype(np.float64)


def _std(values: np.ndarray) -> np.ndarray:
    std = values.std(axis=0)
    return np.where(std > 1e-8 * np.abs(values).max(axis=0), std, 1.0)


def _column(values: np.ndarray) -> jax.Array:
    return jnp.asarray(values, jnp.float32)[:, None]


@jax.jit
def _loss(
    network: Network, head: RewardHead, x: Float[Array, "n i"], y: Float[Array, "n 1"]
) -> Float[Array, ""]:
    """Return the mean squared error, in units of the rewards' standard deviation."""
    return jnp.square(evaluate(network, head.statistics, x, head.shape) - y).mean()


@partial(jax.jit, static_argnames="adam")
def _epoch(
    trained: tuple[Network, optax.OptState],
    head: RewardHead,
    pairs: tuple[Float[Array, "n i"], Float[Array, "n 1"]],
    batches: tuple[Int[Array, "m size"], Int[Array, " m"]],
    adam: optax.GradientTransformation,
    total: Float[Array, ""] | None,
) -> tuple[Network, optax.OptState]:
    """Make one update for each batch, which comes with its number."""
    x, y = pairs

    def once(carry: tuple, batch: tuple[Array, Array]) -> tuple[tuple, None]:
        (network, state), (index, number) = carry, batch
        gradient = jax.grad(_loss)(network, head, x[index], y[index])
        changes, state = adam.update(gradient, state, network)
        return (optax.apply_updates(network, along_cosine(changes, number, total)), state), None

    return jax.lax.scan(once, trained, batches)[0]
