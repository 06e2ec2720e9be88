"""A network as a model of dynamics: scaling, target, projection and bounds around it."""

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.choices import Target
from farstep.dynamics.circles import on_circles
from farstep.dynamics.contract import Dynamics, Gaussian
from farstep.dynamics.network import (
    Network,
    NetworkShape,
    Statistics,
    create_network,
    evaluate,
    train,
)
from farstep.dynamics.scaling import Scaling

LOG_STD_RANGE = (-10.0, 2.0)
"""Where a learned log standard deviation is kept, in units of the target's."""


@dataclass(frozen=True)
class Form:
    """How a network's output becomes a state."""

    network: NetworkShape = field(default_factory=NetworkShape)
    target: Target = "next"
    learned_std: bool = False
    """Whether the network has a second head, for the log standard deviation."""
    angles: tuple[tuple[int, int], ...] = ()
    """(cos, sin) pairs of state dimensions that are projected onto the circle."""
    bounds: float | None = None
    """Keep states within the training range, widened by this share of it on both sides."""


class NetworkDynamics(Dynamics):
    """The paper's model."""

    network: Network
    statistics: tuple[Statistics, ...]
    scaling: Scaling
    fixed_log_std: Float[Array, " d"]
    """In units of the target's standard deviation; used where none is learned."""
    form: Form = eqx.field(static=True)
    stride: int = eqx.field(static=True)

    @classmethod
    def create(
        cls, key: PRNGKeyArray, scaling: Scaling, form: Form, stride: int, fixed_std: float
    ) -> "NetworkDynamics":
        """Draw a new model."""
        d, k = scaling.state_mean.shape[0], scaling.action_mean.shape[0]
        outputs = 2 * d if form.learned_std else d
        network, statistics = create_network(key, d + k, outputs, form.network)
        fixed = jnp.full(d, jnp.log(fixed_std))
        return cls(
            network=network,
            statistics=statistics,
            scaling=scaling,
            fixed_log_std=fixed,
            form=form,
            stride=stride,
        )

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the Gaussian over the state `stride` steps later, as in evaluation."""
        state = self._constrained(state)
        x = self.scaling.inputs(state, action)
        return self._gaussian(evaluate(self.network, self.statistics, x, self.form.network), state)

    def train_step(
        self,
        statistics: tuple[Statistics, ...],
        states: Float[Array, "batch d"],
        actions: Float[Array, "batch k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, tuple[Statistics, ...]]:
        """Return a batch's Gaussians as in training, and the running statistics after it."""
        states = self._constrained(states)
        x = self.scaling.inputs(states, actions)
        output, statistics = train(self.network, statistics, x, self.form.network, key)
        return self._gaussian(output, states), statistics

    def _gaussian(
        self, output: Float[Array, "*batch o"], state: Float[Array, "*batch d"]
    ) -> Gaussian:
        d, scaling = state.shape[-1], self.scaling
        mean = scaling.target_mean + scaling.target_std * output[..., :d]
        if self.form.target == "delta":
            mean = state + mean
        mean = self._constrained(mean)
        if self.form.learned_std:
            log_std = _soft_clamp(output[..., d:], *LOG_STD_RANGE)
        else:
            log_std = jnp.broadcast_to(self.fixed_log_std, mean.shape)
        return Gaussian(mean, log_std + jnp.log(scaling.target_std))

    def _constrained(self, state: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Return the state within the bounds and on the circles: of means, and of what is fed in.

        A sample that is fed back is constrained so too, although it is drawn around a mean.
        """
        if self.form.bounds is not None:
            low, high = self.scaling.state_low, self.scaling.state_high
            margin = self.form.bounds * (high - low)
            state = jnp.clip(state, low - margin, high + margin)
        return on_circles(state, self.form.angles)


def _soft_clamp(x: Array, low: float, high: float) -> Array:
    """Keep x between two limits, with a gradient everywhere."""
    x = high - jax.nn.softplus(high - x)
    return low + jax.nn.softplus(x - low)
