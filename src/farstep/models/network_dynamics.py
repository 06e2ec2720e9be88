"""A network as a model of dynamics: normaliser, target, angles and bounds around it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from farstep.choices import Target
from farstep.models.contract import Dynamics, Gaussian
from farstep.models.network import (
    Network,
    NetworkShape,
    Statistics,
    create_network,
    forward,
    forward_in_training,
)
from farstep.models.normalizer import Normalizer

LOG_STD_RANGE = (-10.0, 2.0)
"""Range of a learned log standard deviation, in units of the target's."""


class NetworkDynamics(Dynamics):
    """The paper's model. Its static fields describe it; the others are its numbers."""

    network: Network
    statistics: tuple[Statistics, ...]
    normalizer: Normalizer
    fixed_log_std: Float[Array, " d"]
    """In units of the target's standard deviation; unused if `learned_std`."""
    shape: NetworkShape = eqx.field(static=True)
    target: Target = eqx.field(static=True, default="next")
    """Predict the next state, or its difference from the present one."""
    learned_std: bool = eqx.field(static=True, default=False)
    """Whether the network has a second head, for the log standard deviation."""
    angles: tuple[tuple[int, int], ...] = eqx.field(static=True, default=())
    """(cos, sin) pairs of state dimensions that are projected onto the circle."""
    bounds: float | None = eqx.field(static=True, default=None)
    """Keep states within the training range, widened by this share of it on both sides."""
    fixed_horizon: int = eqx.field(static=True, default=1)

    @classmethod
    def create(
        cls,
        key: PRNGKeyArray,
        normalizer: Normalizer,
        shape: NetworkShape,
        *,
        target: Target = "next",
        learned_std: bool = False,
        angles: tuple[tuple[int, int], ...] = (),
        bounds: float | None = None,
        fixed_horizon: int = 1,
        fixed_std: float = 0.1,
    ) -> "NetworkDynamics":
        """Draw a new model; `fixed_std` is in units of the target's standard deviation."""
        d, k = normalizer.observation_mean.shape[0], normalizer.action_mean.shape[0]
        outputs = 2 * d if learned_std else d
        network, statistics = create_network(key, d + k, outputs, shape)
        return cls(
            network=network,
            statistics=statistics,
            normalizer=normalizer,
            fixed_log_std=jnp.full(d, jnp.log(fixed_std)),
            shape=shape,
            target=target,
            learned_std=learned_std,
            angles=angles,
            bounds=bounds,
            fixed_horizon=fixed_horizon,
        )

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Predict the state `fixed_horizon` steps later, outside training."""
        state = self._constrained(state)
        x = self.normalizer.inputs(state, action)
        return self._gaussian(forward(self.network, self.statistics, x, self.shape), state)

    def train_step(
        self,
        statistics: tuple[Statistics, ...],
        states: Float[Array, "batch d"],
        actions: Float[Array, "batch k"],
        key: PRNGKeyArray,
    ) -> tuple[Gaussian, tuple[Statistics, ...]]:
        """Predict for a batch in training; also return the running statistics after it."""
        states = self._constrained(states)
        x = self.normalizer.inputs(states, actions)
        output, statistics = forward_in_training(self.network, statistics, x, self.shape, key)
        return self._gaussian(output, states), statistics

    def _gaussian(
        self, output: Float[Array, "*batch o"], state: Float[Array, "*batch d"]
    ) -> Gaussian:
        d, normalizer = state.shape[-1], self.normalizer
        mean = normalizer.target_mean + normalizer.target_std * output[..., :d]
        if self.target == "delta":
            mean = state + mean
        mean = self._constrained(mean)
        if self.learned_std:
            log_std = _soft_clamp(output[..., d:], *LOG_STD_RANGE)
        else:
            log_std = jnp.broadcast_to(self.fixed_log_std, mean.shape)
        return Gaussian(mean, log_std + jnp.log(normalizer.target_std))

    def _constrained(self, state: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Keep states within the bounds and on the angles' circles.

        Both inputs and predicted means are constrained. A sample, which is drawn around a mean, is
        constrained when it is fed back.
        """
        if self.bounds is not None:
            low, high = self.normalizer.observation_low, self.normalizer.observation_high
            margin = self.bounds * (high - low)
            state = jnp.clip(state, low - margin, high + margin)
        return project_angles(state, self.angles)


def project_angles(
    state: Float[Array, "*batch d"], angles: tuple[tuple[int, int], ...]
) -> Float[Array, "*batch d"]:
    """Scale every (cosine, sine) pair to lie on the unit circle."""
    for cos, sin in angles:
        radius = jnp.sqrt(state[..., cos] ** 2 + state[..., sin] ** 2 + 1e-12)
        state = state.at[..., cos].divide(radius).at[..., sin].divide(radius)
    return state


def _soft_clamp(x: Array, low: float, high: float) -> Array:
    """Keep x between two limits, with a gradient everywhere."""
    x = high - jax.nn.softplus(high - x)
    return low + jax.nn.softplus(x - low)
