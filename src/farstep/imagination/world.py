"""The learned model as an environment: reset, step, reward and done as pure functions."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from farstep.choices import Propagation, Uncertainty
from farstep.dynamics.circles import on_circles
from farstep.dynamics.contract import Dynamics, Gaussian, Memory
from farstep.dynamics.ensemble import Ensemble
from farstep.imagination.familiarity import Familiarity
from farstep.imagination.start_states import StartStates
from farstep.rollout import advance
from farstep.signals import Signals
from farstep.systems.system import Reset, Terminated

Rewarding = Callable[[Array, Array, Array], Float[Array, ""]]
"""(state, action, next state) → reward: a known function, or a model of it."""

_NOTICED = 0.01
"""Share of the width between the bounds: what is put back by less is not counted."""
_SENSORS = 2
"""What the noise of the sensors is drawn by: the step itself draws by other numbers."""
_LOST = 200
"""What an end beyond the bounds costs: so many steps at the lowest reward, which is all that a
discount of 0.995 leaves to lose. Less would make leaving a way out of bad rewards; where all are
good, to earn nothing more is loss enough. With a penalty, so many times the last step's is lost as
well; where the model is sure of the last step and unsure before it, leaving may still pay."""


class Place(NamedTuple):
    """Where one imagined system is."""

    state: Float[Array, "*n d"]
    seen: Float[Array, "*n d"]
    """The state as its sensors show it, which is what an agent acts on."""
    memory: Memory
    steps: Int[Array, "*n"]
    """Of this episode."""


class Outcome(NamedTuple):
    """What one step brought."""

    state: Float[Array, "*n d"]
    """The next state, also where the episode ends there."""
    seen: Float[Array, "*n d"]
    """The same as the sensors show it."""
    reward: Float[Array, "*n"]
    terminated: Bool[Array, "*n"]
    truncated: Bool[Array, "*n"]
    bounded: Bool[Array, "*n"]
    """Whether the model left the bounds by more than 1 % of their width; it is put back."""
    not_finite: Bool[Array, "*n"]
    """Whether the model gave no finite state or reward; the episode is cut off where it was."""

    @property
    def done(self) -> Bool[Array, "*n"]:
        """Whether the episode ends."""
        return self.terminated | self.truncated


class World(eqx.Module):
    """A model as an environment; a pytree, for one system. `jax.vmap` makes many of it."""

    dynamics: Dynamics
    rewarding: Rewarding
    starts: StartStates | None
    """States that episodes start from; None draws from `resetting`."""
    low: Float[Array, " d"]
    high: Float[Array, " d"]
    center: Float[Array, " d"]
    """Means of the states."""
    scale: Float[Array, " d"]
    """Standard deviations of the states, which uncertainty is measured in."""
    worst: Float[Array, ""]
    """The lowest reward of the data: what a step earns that has no finite next state."""
    reward_range: Float[Array, ""]
    """Between the lowest and the highest reward of the data, which a penalty is measured in."""
    familiarity: Familiarity | None
    ending: Terminated = eqx.field(static=True)
    resetting: Reset | None = eqx.field(static=True)
    signals: Signals = eqx.field(static=True)
    angles: tuple[tuple[int, int], ...] = eqx.field(static=True)
    """(cosine, sine) pairs of the states, which are kept on the circle."""
    episode_steps: int = eqx.field(static=True)
    propagation: Propagation = eqx.field(static=True)
    ends_beyond: bool = eqx.field(static=True)
    """Whether episodes end beyond the bounds, and where no finite state follows, at a loss; without
    it states are only put back."""
    noise: float = eqx.field(static=True)
    """Of the sensors, in standard deviations that the model predicts for a step."""
    penalty: float = eqx.field(static=True)
    uncertainty_of: Uncertainty = eqx.field(static=True)

    def reset(self, key: PRNGKeyArray) -> Place:
        """Start an episode."""
        start_key, memory_key = jax.random.split(key)
        if self.starts is None:
            assert self.resetting is not None
            state = self.resetting(start_key)
        else:
            state = self.starts.draw(start_key)
        start, memory = self._inside(state), self.dynamics.begin(memory_key)
        return Place(start, start, memory, jnp.zeros((), jnp.int32))

    def step(
        self, place: Place, action: Float[Array, " k"], key: PRNGKeyArray
    ) -> tuple[Place, Outcome]:
        """Apply an action; what follows an episode's end is left to the caller."""
        state, predicted, memory = advance(
            self.dynamics.step, place.memory, place.state, action, key, self.propagation
        )
        state = on_circles(state, self.angles)
        reward = self.reward(place.state, action, self._inside(state))
        finite = jnp.isfinite(state).all() & jnp.isfinite(reward)
        state = jnp.where(finite, state, place.state)
        inside = self._inside(state)
        seen = self._seen(inside, predicted, key)
        steps = place.steps + 1
        bounded = (jnp.abs(inside - state) > self._noticed()).any()
        lost = self.ends_beyond & (bounded | ~finite)
        loss = _LOST * (jnp.minimum(self.worst, 0.0) - self._deduction(place.state, action))
        outcome = Outcome(
            state=inside,
            seen=seen,
            reward=jnp.where(lost, loss, jnp.where(finite, reward, self.worst)),
            terminated=lost | (finite & self.done(place.state, action, inside)),
            truncated=(~finite & ~lost) | (steps >= self.episode_steps),
            bounded=bounded,
            not_finite=~finite,
        )
        return Place(inside, seen, memory, steps), outcome

    def step_all(
        self,
        places: Place,
        actions: Float[Array, "n k"],
        keys: Key[Array, " n"],
        turn: Int[Array, ""],
        restart: bool = True,
    ) -> tuple[Place, Outcome]:
        """Apply an action to each of many systems, and `restart` those whose episodes end.

        Chance comes from each system's key and the turn's number. Starts are drawn only in a turn
        that ends an episode: they would cost as much as the rest.
        """

        def drawn(purpose: int) -> Key[Array, " n"]:
            fold = jax.random.fold_in
            return jax.vmap(lambda key: fold(fold(key, turn), purpose))(keys)

        def restarted() -> Place:
            return jax.vmap(_chosen)(outcome.done, jax.vmap(self.reset)(drawn(1)), moved)

        moved, outcome = jax.vmap(self.step)(places, actions, drawn(0))
        if not restart:
            return moved, outcome
        return jax.lax.cond(outcome.done.any(), restarted, lambda: moved), outcome

    def reward(
        self, state: Float[Array, " d"], action: Float[Array, " k"], next_state: Float[Array, " d"]
    ) -> Float[Array, ""]:
        """Return the reward of a step, less the penalty on what the model is unsure of."""
        return self.rewarding(state, action, next_state) - self._deduction(state, action)

    def _deduction(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Array | float:
        """Return what is taken off a reward because the model is unsure: its range at most.

        More would swamp what critics learn, most of all at the loss of an end beyond the bounds.
        """
        if not self.penalty:
            return 0.0
        share = self.penalty * self.uncertainty(state, action)
        # Where a member gives no number, nothing is known.
        return self.reward_range * jnp.where(jnp.isfinite(share), jnp.minimum(share, 1.0), 1.0)

    def done(
        self, state: Float[Array, " d"], action: Float[Array, " k"], next_state: Float[Array, " d"]
    ) -> Bool[Array, ""]:
        """Return whether the next state ends the task."""
        return self.ending(state, action, next_state)

    def _inside(self, state: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the state within the bounds."""
        return jnp.clip(state, self.low, self.high)

    def _seen(
        self, state: Float[Array, " d"], predicted: Gaussian, key: PRNGKeyArray
    ) -> Float[Array, " d"]:
        """Return what the sensors show of a state; a start is shown as it was recorded."""
        if not self.noise:
            return state
        drawn = jax.random.normal(jax.random.fold_in(key, _SENSORS), state.shape)
        shown = state + self.noise * jnp.exp(predicted.log_std) * drawn
        return self._inside(jnp.where(jnp.isfinite(shown), shown, state))

    def _noticed(self) -> Float[Array, " d"]:
        """Return how far beyond the bounds counts; a dimension that never moved has its scale."""
        return _NOTICED * jnp.maximum(self.high - self.low, self.scale)

    def uncertainty(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Array:
        """Return how unsure the model is of a step, in standard deviations of the states.

        `disagreement`: the norm of the members' standard deviation about their mean.
        `std`: the largest norm of a predicted standard deviation, of any member, as in MOPO.
        """
        dynamics = self.dynamics
        several = isinstance(dynamics, Ensemble)
        predicted = dynamics.each(state, action) if several else dynamics.predict(state, action)
        if self.uncertainty_of == "disagreement":
            return jnp.linalg.norm(predicted.mean.std(axis=0) / self.scale)
        return jnp.linalg.norm(jnp.exp(predicted.log_std) / self.scale, axis=-1).max()


def _chosen(first: Bool[Array, ""], one: Place, other: Place) -> Place:
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)
