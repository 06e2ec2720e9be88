"""The linear model, fitted in closed form by least squares."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.data.episodes import Episodes
from farstep.models.contract import Dynamics, Gaussian


class LinearDynamics(Dynamics):
    """s' = A s + B a + c, with a standard deviation for each dimension."""

    state_matrix: Float[Array, "d d"]
    action_matrix: Float[Array, "d k"]
    offset: Float[Array, " d"]
    log_std: Float[Array, " d"]
    fixed_horizon: int = eqx.field(static=True, default=1)

    @classmethod
    def zeros(cls, d: int, k: int) -> "LinearDynamics":
        """Return a model that predicts zero."""
        return cls(
            state_matrix=jnp.zeros((d, d)),
            action_matrix=jnp.zeros((d, k)),
            offset=jnp.zeros(d),
            log_std=jnp.zeros(d),
        )

    def predict(self, state: Float[Array, " d"], action: Float[Array, " k"]) -> Gaussian:
        """Return the Gaussian over the next state."""
        mean = self.state_matrix @ state + self.action_matrix @ action + self.offset
        return Gaussian(mean, self.log_std)


def fit_linear(episodes: Episodes) -> LinearDynamics:
    """Fit a one-step model to all transitions by least squares."""
    before, after = (states.astype(np.float64) for states in episodes.transitions())
    d, k = before.shape[1], episodes.actions.shape[1]
    inputs = np.concatenate([before, episodes.actions, np.ones((len(before), 1))], axis=1)
    solution = np.linalg.lstsq(inputs, after, rcond=None)[0].T
    residual = after - inputs @ solution.T
    scale = np.maximum(residual.std(axis=0), 1e-8 * np.maximum(1.0, after.std(axis=0)))
    return LinearDynamics(
        state_matrix=jnp.asarray(solution[:, :d], jnp.float32),
        action_matrix=jnp.asarray(solution[:, d : d + k], jnp.float32),
        offset=jnp.asarray(solution[:, -1], jnp.float32),
        log_std=jnp.asarray(np.log(scale), jnp.float32),
    )
