"""Soft actor-critic (Haarnoja et al., 2018): its losses, and one update as a pure function."""

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.config import AgentConfig
from farstep.agents.networks import (
    Layers,
    ObservationScale,
    action_distribution,
    create_layers,
    squashed_sample,
    values,
)
from farstep.agents.replay import Replay, Transitions, sample
from farstep.data.signals import Signals
from farstep.errors import DivergedError
from farstep.training.optimiser import optimiser, running_average

DIVERGED = (
    "the agent diverged: its losses are not finite. Try a smaller learning_rate, or rewards of a "
    "smaller scale."
)
T = TypeVar("T")


class Learner(NamedTuple):
    """All that updates change."""

    actor: Layers
    critics: tuple[Layers, Layers]
    target_critics: tuple[Layers, Layers]
    log_temperature: Float[Array, ""]
    optimisers: tuple[optax.OptState, optax.OptState, optax.OptState]
    """Of actor, critics and temperature."""
    scale: ObservationScale
    """Of the inputs of all networks."""
    averaged: Layers | None = None
    """Running average of the actor; None without `ema_decay`."""

    @property
    def evaluated(self) -> Layers:
        """The actor that is evaluated and returned: the average, if there is one."""
        return self.actor if self.averaged is None else self.averaged

    @property
    def unscaled(self) -> Layers:
        """The same actor for observations without a scale."""
        return self.scale.converted(self.evaluated, ObservationScale.identity(len(self.scale.mean)))

    def with_scale(self, scale: ObservationScale) -> "Learner":
        """Return the same learner with another scale of observations."""

        def converted(layers: Layers) -> Layers:
            return self.scale.converted(layers, scale)

        first, second = self.critics
        first_target, second_target = self.target_critics
        return self._replace(
            actor=converted(self.actor),
            critics=(converted(first), converted(second)),
            target_critics=(converted(first_target), converted(second_target)),
            scale=scale,
            averaged=None if self.averaged is None else converted(self.averaged),
        )


class Losses(NamedTuple):
    """What an update reports."""

    actor: Float[Array, ""]
    critic: Float[Array, ""]
    temperature: Float[Array, ""]
    """α itself, not its loss."""
    entropy: Float[Array, ""]
    """Mean of −log π."""

    @classmethod
    def zero(cls) -> "Losses":
        """Return the sum over no updates."""
        return cls(*jnp.zeros(4))

    def check_finite(self) -> None:
        """Fail if the loss of an update was not finite."""
        if not np.isfinite(jax.device_get([self.actor, self.critic])).all():
            raise DivergedError(DIVERGED)

    def means(self, updates: int) -> dict[str, float]:
        """Return the means of these sums over updates, by column name; nothing without updates."""
        names = ("actor_loss", "critic_loss", "temperature", "entropy")
        sums = zip(names, jax.device_get(self), strict=True)
        return {name: float(value) / updates for name, value in sums if updates}


def copied(tree: T) -> T:
    """Copy a pytree into buffers of its own, since a training loop reuses those of its state."""
    return jax.tree.map(jnp.copy, tree)


def create_learner(
    key: PRNGKeyArray,
    num_observations: int,
    num_actions: int,
    config: AgentConfig,
    scale: ObservationScale | None = None,
) -> Learner:
    """Draw a new agent. Every array has its own buffer, so that all can be donated."""
    actor_key, *critic_keys = jax.random.split(key, 3)
    actor = create_layers(actor_key, (num_observations, *config.net_arch, 2 * num_actions))
    first, second = (
        create_layers(k, (num_observations + num_actions, *config.net_arch, 1)) for k in critic_keys
    )
    critics = (first, second)
    start = 1.0 if config.ent_coef is None else config.ent_coef
    log_temperature = jnp.log(jnp.array(start, jnp.float32))  # with a strong type: no retrace
    parameters: Any = (actor, critics, log_temperature)
    adam = optimiser(config.learning_rate)
    scale = ObservationScale.identity(num_observations) if scale is None else scale
    return Learner(
        actor=actor,
        critics=critics,
        target_critics=copied(critics),
        log_temperature=log_temperature,
        optimisers=tuple(adam.init(part) for part in parameters),  # pyright: ignore[reportArgumentType]
        scale=copied(scale),
        averaged=None if config.ema_decay is None else copied(actor),
    )


def act(
    learner: Learner, observations: Float[Array, "n d"], key: PRNGKeyArray
) -> Float[Array, "n k"]:
    """Draw an action for each observation, scaled to [−1, 1]."""
    mean, log_std = action_distribution(learner.actor, learner.scale.scaled(observations))
    return squashed_sample(mean, log_std, jax.random.normal(key, mean.shape))[0]


def to_bounds(actions: Float[Array, "*n k"], signals: Signals) -> Float[Array, "*n k"]:
    """Scale actions from [−1, 1] to the system's bounds."""
    low, high = jnp.array(signals.action_low), jnp.array(signals.action_high)
    return low + (actions + 1) / 2 * (high - low)


def targets(
    rewards: Float[Array, " b"],
    terminated: Float[Array, " b"],
    next_values: tuple[Float[Array, " b"], Float[Array, " b"]],
    next_log_density: Float[Array, " b"],
    temperature: Float[Array, ""],
    gamma: float,
) -> Float[Array, " b"]:
    """Return y = r + γ (1 − d) [ min(Q̄₁, Q̄₂)(s', a') − α log π(a'|o') ]."""
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

    The actor's observation o is the state s or a noisy reading of it (an asymmetric actor-critic,
    Pinto et al., 2018).
    """
    actions, log_density = squashed_sample(*action_distribution(actor, batch.observations), noise)
    value = jnp.minimum(*values(critics, batch.states, actions))
    return (temperature * log_density - value).mean(), log_density


def temperature_loss(
    log_temperature: Float[Array, ""],
    log_density: Float[Array, " b"],
    target_entropy: float,
) -> Float[Array, ""]:
    """Return −mean log α · (log π(a|o) + H̄), whose minimum has the entropy H̄."""
    return -(log_temperature * jax.lax.stop_gradient(log_density + target_entropy)).mean()


def update(
    learner: Learner, batch: Transitions, key: PRNGKeyArray, config: AgentConfig
) -> tuple[Learner, Losses]:
    """Update critics, then actor, then temperature, then the target critics, once.

    As in Stable-Baselines3, all three losses use the temperature from before the update.
    """
    batch = batch._replace(
        states=learner.scale.scaled(batch.states),
        next_states=learner.scale.scaled(batch.next_states),
        observations=learner.scale.scaled(batch.observations),
        next_observations=learner.scale.scaled(batch.next_observations),
    )
    noise, next_noise = jax.random.normal(key, (2, *batch.actions.shape))
    temperature = jnp.exp(learner.log_temperature)
    next_actions, next_log_density = squashed_sample(
        *action_distribution(learner.actor, batch.next_observations), next_noise
    )
    y = targets(
        batch.rewards,
        batch.terminated,
        values(learner.target_critics, batch.next_states, next_actions),
        next_log_density,
        temperature,
        config.gamma,
    )
    q_loss, gradient = jax.value_and_grad(critic_loss)(learner.critics, batch, y)
    actor_state, critic_state, temperature_state = learner.optimisers
    rate = config.learning_rate
    critics, critic_state = _adam_step(learner.critics, gradient, critic_state, rate)
    (pi_loss, log_density), gradient = jax.value_and_grad(actor_loss, has_aux=True)(
        learner.actor, critics, batch, noise, temperature
    )
    actor, actor_state = _adam_step(learner.actor, gradient, actor_state, rate)
    log_temperature = learner.log_temperature
    if config.ent_coef is None:
        target = config.target_entropy
        target = -float(batch.actions.shape[1]) if target is None else target
        gradient = jax.grad(temperature_loss)(log_temperature, log_density, target)
        log_temperature, temperature_state = _adam_step(
            log_temperature, gradient, temperature_state, rate
        )
    target_critics = jax.tree.map(
        lambda slow, new: (1 - config.tau) * slow + config.tau * new,
        learner.target_critics,
        critics,
    )
    averaged = learner.averaged
    if config.ema_decay is not None:
        updates = optax.tree.get(learner.optimisers[0], "count")
        averaged = running_average(averaged, actor, config.ema_decay, updates)
    updated = learner._replace(
        actor=actor,
        critics=critics,
        target_critics=target_critics,
        log_temperature=log_temperature,
        optimisers=(actor_state, critic_state, temperature_state),
        averaged=averaged,
    )
    return updated, Losses(pi_loss, q_loss, temperature, -log_density.mean())


def learn(
    learner: Learner, replay: Replay, key: PRNGKeyArray, config: AgentConfig
) -> tuple[Learner, Losses]:
    """Make `gradient_steps` updates with batches from the buffer; return the losses' sums."""
    sizes = len(learner.actor[0].weight), len(learner.actor[-1].bias) // 2

    def once(number: Int[Array, ""], carry: tuple[Learner, Losses]) -> tuple[Learner, Losses]:
        learner, total = carry
        sample_key, noise_key = jax.random.split(jax.random.fold_in(key, number))
        batch = sample(replay, sample_key, config.batch_size, sizes)
        learner, losses = update(learner, batch, noise_key, config)
        return learner, jax.tree.map(jnp.add, total, losses)

    start = (learner, Losses.zero())
    if config.gradient_steps == 1:
        return once(jnp.zeros((), jnp.int32), start)
    return jax.lax.fori_loop(0, config.gradient_steps, once, start)


def _adam_step(
    parameters: Any, gradient: Any, state: optax.OptState, rate: float
) -> tuple[Any, Any]:
    """Return parameters and optimiser state after one step of Adam."""
    changes, state = optimiser(rate).update(gradient, state, parameters)
    return optax.apply_updates(parameters, changes), state
