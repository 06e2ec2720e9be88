"""The three losses of soft actor-critic (Haarnoja et al., 2018), each with its equation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from farstep.agents.networks import Layers, action_distribution, squashed_sample, values


class Transitions(NamedTuple):
    """A batch out of the replay buffer; actions are scaled to [−1, 1]."""

    states: Float[Array, "b d"]
    actions: Float[Array, "b k"]
    rewards: Float[Array, " b"]
    next_states: Float[Array, "b d"]
    terminated: Float[Array, " b"]
    """1 where the next state ends the task; an episode that was cut off goes on in theory."""
    seen: Float[Array, "b d"]
    """The states as the sensors show them, which is what the actor goes by. Critics, which nobody
    acts by, are given the states."""
    next_seen: Float[Array, "b d"]


def targets(
    rewards: Float[Array, " b"],
    terminated: Float[Array, " b"],
    next_values: tuple[Float[Array, " b"], Float[Array, " b"]],
    next_log_density: Float[Array, " b"],
    temperature: Float[Array, ""],
    gamma: float,
) -> Float[Array, " b"]:
    """Return y = r + γ (1 − d) [ min(Q̄₁, Q̄₂)(s', a') − α log π(a'|s') ]."""
    soft = jnp.minimum(*next_values) - temperature * next_log_density
    return jax.lax.stop_gradient(rewards + gamma * (1 - terminated) * soft)


def critic_loss(
    critics: tuple[Layers, Layers], batch: Transitions, y: Float[Array, " b"]
) -> Float[Array, ""]:
    """Return ½ Σ_i mean (Q_i(s, a) − y)²."""
    first, second = values(critics, batch.states, batch.actions)
    return 0.5 * (jnp.square(first - y).mean() + jnp.square(second - y).mean())


def actor_loss(
    actor: Layers,
    critics: tuple[Layers, Layers],
    batch: Transitions,
    noise: Float[Array, "b k"],
    temperature: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, " b"]]:
    """Return mean [ α log π(a|o) − min(Q₁, Q₂)(s, a) ] with a = tanh(μ(o) + σ(o) ε), and log π.

    o is what the actor sees of s: s itself, or a noisy reading of it (an asymmetric actor-critic,
    Pinto et al., 2018).
    """
    actions, log_density = squashed_sample(*action_distribution(actor, batch.seen), noise)
    worth = jnp.minimum(*values(critics, batch.states, actions))
    return (temperature * log_density - worth).mean(), log_density


def temperature_loss(
    log_temperature: Float[Array, ""],
    log_density: Float[Array, " b"],
    target_entropy: float,
) -> Float[Array, ""]:
    """Return −mean log α · (log π(a|s) + H̄), whose minimum holds the entropy at H̄."""
    return -(log_temperature * jax.lax.stop_gradient(log_density + target_entropy)).mean()
