"""The reward of the model environment, known or learned, and the model's uncertainty."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from farstep.choices import Uncertainty
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.models.reward import KnownReward
from farstep.systems.system import System

RewardFunction = Callable[[Array, Array, Array], Float[Array, ""]]
"""(state, action, next state) → reward."""


def reward_function(
    model: Model, system: System, source: Literal["known", "learned"] | None
) -> RewardFunction:
    """Return the system's reward function or the model's; None prefers the system's."""
    if source != "learned" and system.reward is not None:
        return KnownReward(system.reward)
    if model.reward is None:
        reason = "" if system.reward else f"system '{system.name}' has no reward function, and "
        raise FarstepError(
            f"{reason}the model has not learned the reward; fit with learn_reward=True "
            "(--learn-reward) on data with rewards, or give the system a reward function."
        )
    return model.reward


class RewardStatistics(eqx.Module):
    """The lowest reward of the data, and the range from it to the highest."""

    lowest: Float[Array, ""]
    range: Float[Array, ""]

    @classmethod
    def of(cls, data: Episodes | None, system: System) -> "RewardStatistics":
        """Measure recorded or known rewards; 0 and 1 without rewards, 1 for a range of zero."""
        rewards = None if data is None else data.rewards
        if data is not None and rewards is None and system.reward is not None:
            rewards = system.rewards_of(data)
        lowest = 0.0 if rewards is None else float(rewards.min())
        width = 1.0 if rewards is None else float(rewards.max()) - lowest
        return cls(jnp.float32(lowest), jnp.float32(width or 1.0))


def uncertainty(
    dynamics: Dynamics,
    state: Float[Array, " d"],
    action: Float[Array, " k"],
    scale: Float[Array, " d"],
    kind: Uncertainty,
) -> Float[Array, ""]:
    """Return how uncertain the model is of the next state, in units of `scale`.

    `disagreement` is ‖σ_i[μ_i(s, a)] / scale‖, the spread of the members' means. `std` is
    max_i ‖σ_i(s, a) / scale‖, the largest predicted standard deviation, as in MOPO.
    """
    several = isinstance(dynamics, Ensemble)
    predicted = dynamics.each(state, action) if several else dynamics.predict(state, action)
    if kind == "disagreement":
        return jnp.linalg.norm(predicted.mean.std(axis=0) / scale)
    return jnp.linalg.norm(jnp.exp(predicted.log_std) / scale, axis=-1).max()
