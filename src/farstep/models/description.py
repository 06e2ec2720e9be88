"""The description of a model as JSON, and an empty model of a description."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from farstep.errors import FarstepError
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.linear import LinearDynamics
from farstep.models.network import NetworkShape
from farstep.models.network_dynamics import NetworkDynamics
from farstep.models.normalizer import Normalizer
from farstep.models.reward import RewardHead

_STATIC = ("target", "learned_std", "bounds", "fixed_horizon")


def describe_dynamics(dynamics: Dynamics) -> dict[str, Any]:
    """Describe a model; models of one description differ in their numbers only."""
    match dynamics:
        case NetworkDynamics():
            return {
                "kind": "network",
                "shape": asdict(dynamics.shape),
                **{name: getattr(dynamics, name) for name in _STATIC},
                "angles": [list(pair) for pair in dynamics.angles],
                "observations": dynamics.normalizer.observation_mean.shape[-1],
                "actions": dynamics.normalizer.action_mean.shape[-1],
            }
        case LinearDynamics():
            d, k = dynamics.action_matrix.shape[-2:]
            return {"kind": "linear", "observations": d, "actions": k}
        case Ensemble():
            return {
                "kind": "ensemble",
                "ensemble_mode": dynamics.ensemble_mode,
                "size": dynamics.size,
                "members": describe_dynamics(dynamics.members),
            }
    raise FarstepError(
        f"a {type(dynamics).__name__} cannot be stored; store a network, linear model or ensemble."
    )


def empty_dynamics(description: Mapping[str, Any], most: int) -> Dynamics:
    """Return a model of this description, with shapes in place of arrays.

    Args:
        description: What `describe_dynamics` returned.
        most: The largest number of layers to accept: a damaged file could ask for millions.
    """
    try:
        return _empty(description, most)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FarstepError(f"the model's description is damaged ({error!r}).") from error


def describe_reward(head: RewardHead | None) -> dict[str, Any] | None:
    """Describe a learned reward; None for a model without one."""
    if head is None:
        return None
    return {"inputs": head.input_mean.shape[-1], "shape": asdict(head.shape)}


def empty_reward(description: Mapping[str, Any] | None, most: int) -> RewardHead | None:
    """Return a reward head of this description, with shapes in place of arrays."""
    if description is None:
        return None
    inputs, shape = int(description["inputs"]), _shape(description["shape"], most)
    return eqx.filter_eval_shape(lambda: RewardHead.create(jax.random.key(0), inputs, shape))


def _shape(description: Mapping[str, Any], most: int) -> NetworkShape:
    shape = NetworkShape(**description)
    if shape.depth > most:
        raise FarstepError(f"{shape.depth} layers are more than there are arrays.")
    return shape


def _empty(description: Mapping[str, Any], most: int) -> Dynamics:
    if description["kind"] == "ensemble":
        member, size = _empty(description["members"], most), int(description["size"])
        return Ensemble(
            members=jax.tree.map(
                lambda leaf: jax.ShapeDtypeStruct((size, *leaf.shape), leaf.dtype), member
            ),
            ensemble_mode=description["ensemble_mode"],
            fixed_horizon=member.fixed_horizon,  # pyright: ignore[reportArgumentType]
        )
    d, k = int(description["observations"]), int(description["actions"])
    if description["kind"] == "linear":
        return eqx.filter_eval_shape(LinearDynamics.zeros, d, k)
    static = {name: description[name] for name in _STATIC}
    angles = tuple((int(cos), int(sin)) for cos, sin in description["angles"])
    shape = _shape(description["shape"], most)

    def example() -> NetworkDynamics:
        normalizer = Normalizer(*(jnp.zeros(size) for size in (d, d, k, k, d, d, d, d)))
        return NetworkDynamics.create(jax.random.key(0), normalizer, shape, angles=angles, **static)

    return eqx.filter_eval_shape(example)
