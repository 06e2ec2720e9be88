"""One update of soft actor-critic, as a pure function."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.config import AgentConfig
from farstep.agents.losses import Transitions, actor_loss, critic_loss, targets, temperature_loss
from farstep.agents.networks import (
    Layers,
    action_distribution,
    create_layers,
    squashed_sample,
    values,
)
from farstep.agents.replay import Replay, draw
from farstep.agents.units import Units
from farstep.fitting.optimiser import optimiser, running_average


class Learner(NamedTuple):
    """What updates change."""

    actor: Layers
    critics: tuple[Layers, Layers]
    target_critics: tuple[Layers, Layers]
    log_temperature: Float[Array, ""]
    optimisers: tuple[optax.OptState, optax.OptState, optax.OptState]
    """Of actor, critics and temperature."""
    units: Units
    """What all networks measure states in."""
    averaged: Layers | None = None
    """Running average of the actor; None where none is asked for."""

    @property
    def evaluated(self) -> Layers:
        """The actor to evaluate and to keep: the averaged one, if there is."""
        return self.actor if self.averaged is None else self.averaged

    @property
    def policy(self) -> Layers:
        """The same for states in their own units."""
        return self.units.moved(self.evaluated, Units.none(len(self.units.center)))

    def in_units(self, units: Units) -> "Learner":
        """Return what does the same and measures states in other units."""

        def moved(layers: Layers) -> Layers:
            return self.units.moved(layers, units)

        first, second = self.critics
        first_target, second_target = self.target_critics
        return self._replace(
            actor=moved(self.actor),
            critics=(moved(first), moved(second)),
            target_critics=(moved(first_target), moved(second_target)),
            units=units,
            averaged=None if self.averaged is None else moved(self.averaged),
        )


class Losses(NamedTuple):
    """What an update is told by."""

    actor: Float[Array, ""]
    critic: Float[Array, ""]
    temperature: Float[Array, ""]
    """α itself, not its loss."""
    entropy: Float[Array, ""]
    """Mean of −log π."""

    @classmethod
    def zero(cls) -> "Losses":
        """Of no update."""
        return cls(*jnp.zeros(4))


def create_learner(
    key: PRNGKeyArray,
    num_states: int,
    num_actions: int,
    config: AgentConfig,
    units: Units | None = None,
) -> Learner:
    """Draw a new agent. Every array is its own buffer, so that all can be donated."""
    actor_key, *critic_keys = jax.random.split(key, 3)
    actor = create_layers(actor_key, (num_states, *config.net_arch, 2 * num_actions))
    first, second = (
        create_layers(k, (num_states + num_actions, *config.net_arch, 1)) for k in critic_keys
    )
    critics = (first, second)
    start = 1.0 if config.ent_coef is None else config.ent_coef
    log_temperature = jnp.log(jnp.array(start, jnp.float32))  # with a type of its own: no retrace
    parameters: Any = (actor, critics, log_temperature)
    adam = optimiser(config.learning_rate)
    return Learner(
        actor=actor,
        critics=critics,
        target_critics=jax.tree.map(jnp.copy, critics),
        log_temperature=log_temperature,
        optimisers=tuple(adam.init(part) for part in parameters),  # pyright: ignore[reportArgumentType]
        units=Units.none(num_states) if units is None else jax.tree.map(jnp.copy, units),
        averaged=None if config.average is None else jax.tree.map(jnp.copy, actor),
    )


def act(learner: Learner, states: Float[Array, "n d"], key: PRNGKeyArray) -> Float[Array, "n k"]:
    """Draw an action for each state, scaled to [−1, 1]."""
    mean, log_std = action_distribution(learner.actor, learner.units.measured(states))
    return squashed_sample(mean, log_std, jax.random.normal(key, mean.shape))[0]


def update(
    learner: Learner, batch: Transitions, key: PRNGKeyArray, config: AgentConfig
) -> tuple[Learner, Losses]:
    """Move critics, then actor, then temperature, then the target critics, once.

    As in Stable-Baselines3, all three losses use the temperature from before the update.
    """
    batch = _in_units(learner.units, batch)
    noise, next_noise = jax.random.normal(key, (2, *batch.actions.shape))
    temperature = jnp.exp(learner.log_temperature)
    next_actions, next_log_density = squashed_sample(
        *action_distribution(learner.actor, batch.next_seen), next_noise
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
    critics, critic_state = _moved(learner.critics, gradient, critic_state, rate)
    (pi_loss, log_density), gradient = jax.value_and_grad(actor_loss, has_aux=True)(
        learner.actor, critics, batch, noise, temperature
    )
    actor, actor_state = _moved(learner.actor, gradient, actor_state, rate)
    log_temperature = learner.log_temperature
    if config.ent_coef is None:
        aim = config.target_entropy
        aim = -float(batch.actions.shape[1]) if aim is None else aim
        gradient = jax.grad(temperature_loss)(log_temperature, log_density, aim)
        log_temperature, temperature_state = _moved(
            log_temperature, gradient, temperature_state, rate
        )
    target_critics = jax.tree.map(
        lambda slow, new: (1 - config.tau) * slow + config.tau * new,
        learner.target_critics,
        critics,
    )
    states = (actor_state, critic_state, temperature_state)
    averaged = learner.averaged
    if config.average is not None:
        updates = optax.tree.get(learner.optimisers[0], "count")
        averaged = running_average(averaged, actor, config.average, updates)
    moved = learner._replace(
        actor=actor,
        critics=critics,
        target_critics=target_critics,
        log_temperature=log_temperature,
        optimisers=states,
        averaged=averaged,
    )
    return moved, Losses(pi_loss, q_loss, temperature, -log_density.mean())


def _in_units(units: Units, batch: Transitions) -> Transitions:
    return batch._replace(
        states=units.measured(batch.states),
        next_states=units.measured(batch.next_states),
        seen=units.measured(batch.seen),
        next_seen=units.measured(batch.next_seen),
    )


def learn(
    learner: Learner, replay: Replay, key: PRNGKeyArray, config: AgentConfig
) -> tuple[Learner, Losses]:
    """Make `gradient_steps` updates with batches out of the buffer; the losses are summed."""
    num_states, num_actions = len(learner.actor[0].weight), len(learner.actor[-1].bias) // 2

    def once(number: Int[Array, ""], carry: tuple[Learner, Losses]) -> tuple[Learner, Losses]:
        learner, total = carry
        draw_key, noise_key = jax.random.split(jax.random.fold_in(key, number))
        batch = draw(replay, draw_key, config.batch_size, (num_states, num_actions))
        learner, losses = update(learner, batch, noise_key, config)
        return learner, jax.tree.map(jnp.add, total, losses)

    start = (learner, Losses.zero())
    if config.gradient_steps == 1:
        return once(jnp.zeros((), jnp.int32), start)
    return jax.lax.fori_loop(0, config.gradient_steps, once, start)


def _moved(parameters: Any, gradient: Any, state: optax.OptState, rate: float) -> tuple[Any, Any]:
    """Return parameters and optimiser after one step of Adam."""
    changes, state = optimiser(rate).update(gradient, state, parameters)
    return optax.apply_updates(parameters, changes), state
