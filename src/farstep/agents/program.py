"""An agent's life as one compiled program: act, imagine, remember, update, thousands of times."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from farstep.agents.config import AgentConfig
from farstep.agents.losses import Transitions
from farstep.agents.networks import Layers, action_distribution
from farstep.agents.replay import Replay, empty_replay, remember
from farstep.agents.sac import Learner, Losses, act, create_learner, learn
from farstep.agents.units import Units
from farstep.imagination.stepping import strangeness
from farstep.imagination.world import Outcome, Place, World
from farstep.signals import Signals


class AgentState(NamedTuple):
    """What one step hands to the next."""

    learner: Learner
    replay: Replay
    places: Place
    """Of all systems."""
    returns: Float[Array, " n"]
    """Of the episodes that are under way."""
    steps: Int[Array, ""]
    """Of all systems together, so far."""


class Tally(NamedTuple):
    """Sums over some steps."""

    episodes: Int[Array, ""]
    """That ended."""
    returns: Float[Array, ""]
    """Of those episodes."""
    steps: Int[Array, ""]
    """Of all systems together."""
    turns: Int[Array, ""]
    """Of the loop."""
    bounded: Int[Array, ""]
    """Steps at which the model left the bounds."""
    not_finite: Int[Array, ""]
    """Episodes cut off because the model gave no finite state."""
    strangeness: Float[Array, ""]
    """Sum over steps of the mean over watched systems."""
    updates: Int[Array, ""]
    losses: Losses

    @classmethod
    def zero(cls) -> "Tally":
        """Return sums over nothing."""
        none, zero = jnp.zeros((), jnp.int32), jnp.zeros(())
        return cls(none, zero, none, none, none, none, zero, none, Losses(zero, zero, zero, zero))

    def plus(self, other: "Tally") -> "Tally":
        """Return the sums over both."""
        return jax.tree.map(jnp.add, self, other)


def initial_state(key: PRNGKeyArray, world: World, config: AgentConfig) -> AgentState:
    """Return a new agent and new systems."""
    learner_key, reset_key = jax.random.split(key)
    d, k = world.signals.num_states, world.signals.num_actions
    capacity = min(config.buffer_size, config.steps)
    places = jax.vmap(world.reset)(jax.random.split(reset_key, config.num_envs))
    return AgentState(
        learner=create_learner(learner_key, d, k, config, Units.of(world.center, world.scale)),
        replay=empty_replay(capacity, (d, k), config.num_envs, noisy=bool(world.noise)),
        places=jax.tree.map(jnp.copy, places),
        returns=jnp.zeros(config.num_envs),
        steps=jnp.zeros((), jnp.int32),
    )


class Phase(NamedTuple):
    """What a part of an agent's life is like."""

    acts: bool
    """Otherwise actions are random."""
    learns: bool


WARM_UP, LEARNING = Phase(acts=False, learns=False), Phase(acts=True, learns=True)


@partial(jax.jit, static_argnames=("config", "phase"), donate_argnames="state")
def live(
    state: AgentState,
    world: World,
    key: PRNGKeyArray,
    count: Int[Array, ""],
    config: AgentConfig,
    phase: Phase,
) -> tuple[AgentState, Tally]:
    """Let all systems make `count` steps; the number is no part of the compiled program.

    Args:
        state: Where the agent stands; its buffers are reused.
        world: What it acts in.
        key: Of the whole training; each step folds its number into it.
        count: Steps of each system.
        config: The agent's settings.
        phase: In the warm-up nothing is updated.
    """

    def once(_: Int[Array, ""], carry: tuple[AgentState, Tally]) -> tuple[AgentState, Tally]:
        state, tally = carry
        step_key = jax.random.fold_in(key, state.steps)
        state, new = _step(state, world, step_key, config, phase)
        return state, tally.plus(new)

    return jax.lax.fori_loop(0, count, once, (state, Tally.zero()))


def _step(
    state: AgentState, world: World, key: PRNGKeyArray, config: AgentConfig, phase: Phase
) -> tuple[AgentState, Tally]:
    """Act and imagine once in every system, then update."""
    act_key, world_key, update_key = jax.random.split(key, 3)
    before, learner, n = state.places, state.learner, config.num_envs
    shape = (n, world.signals.num_actions)
    if phase.acts:
        actions = act(learner, before.seen, act_key)
    else:
        actions = jax.random.uniform(act_key, shape, minval=-1.0, maxval=1.0)
    applied = unscaled(actions, world.signals)
    places, outcome = world.step_all(before, applied, jax.random.split(world_key, n), state.steps)
    new = Transitions(
        states=before.state,
        actions=actions,
        rewards=outcome.reward,
        next_states=outcome.state,
        terminated=outcome.terminated.astype(float),
        seen=before.seen,
        next_seen=outcome.seen,
    )
    replay = remember(state.replay, new)
    losses, updates = Losses.zero(), config.gradient_steps if phase.learns else 0
    if phase.learns:
        learner, losses = learn(learner, replay, update_key, config)
    returns = state.returns + outcome.reward
    tally = _tally(world, before.state, applied, outcome, returns)
    tally = tally._replace(updates=jnp.array(updates, jnp.int32), losses=losses)
    returns = jnp.where(outcome.done, 0.0, returns)
    return AgentState(learner, replay, places, returns, state.steps + n), tally


@jax.jit
def imagined_returns(world: World, actor: Layers, keys: Key[Array, " n"]) -> Float[Array, " n"]:
    """Return what the most likely actions earn, in one imagined episode for each key."""

    def one(key: PRNGKeyArray) -> Float[Array, ""]:
        start_key, step_key = jax.random.split(key)

        def going(carry: tuple) -> Bool[Array, ""]:
            return ~carry[2]

        def once(carry: tuple) -> tuple:
            place, total, _ = carry
            mean, _ = action_distribution(actor, place.seen)
            action = unscaled(jnp.tanh(mean), world.signals)
            place, outcome = world.step(place, action, jax.random.fold_in(step_key, place.steps))
            return place, total + outcome.reward, outcome.done

        start = (world.reset(start_key), jnp.zeros(()), jnp.array(False))
        return jax.lax.while_loop(going, once, start)[1]

    return jax.vmap(one)(keys)


def unscaled(actions: Float[Array, "*n k"], signals: Signals) -> Float[Array, "*n k"]:
    """Return actions in [−1, 1] in the system's own units."""
    low, high = jnp.array(signals.action_low), jnp.array(signals.action_high)
    return low + (actions + 1) / 2 * (high - low)


def _tally(world: World, states: Array, actions: Array, outcome: Outcome, returns: Array) -> Tally:
    return Tally.zero()._replace(
        episodes=outcome.done.sum(dtype=jnp.int32),
        returns=jnp.where(outcome.done, returns, 0.0).sum(),
        steps=jnp.array(len(states), jnp.int32),
        turns=jnp.ones((), jnp.int32),
        bounded=outcome.bounded.sum(dtype=jnp.int32),
        not_finite=outcome.not_finite.sum(dtype=jnp.int32),
        strangeness=strangeness(world, states, actions),
    )
