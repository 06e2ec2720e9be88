"""What a model is, apart from its numbers, as JSON; and an empty model of that description."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.linear import LinearDynamics
from farstep.dynamics.network import NetworkShape
from farstep.dynamics.network_dynamics import Form, NetworkDynamics
from farstep.dynamics.reward import RewardHead
from farstep.dynamics.scaling import Scaling
from farstep.errors import FarstepError


def describe_dynamics(dynamics: Dynamics) -> dict[str, Any]:
    """Return what `empty_dynamics` needs."""
    match dynamics:
        case NetworkDynamics():
            return {
                "kind": "network",
                "form": asdict(dynamics.form),
                "stride": dynamics.stride,
                "states": dynamics.scaling.state_mean.shape[-1],
                "actions": dynamics.scaling.action_mean.shape[-1],
            }
        case LinearDynamics():
            d, k = dynamics.action_matrix.shape[-2:]
            return {"kind": "linear", "states": d, "actions": k}
        case Ensemble():
            inner = describe_dynamics(dynamics.members)
            return {
                "kind": "ensemble",
                "choice": dynamics.choice,
                "size": dynamics.size,
                "members": inner,
            }
    raise FarstepError(f"a {type(dynamics).__name__} cannot be stored; Farstep's own models can.")


def empty_dynamics(description: Mapping[str, Any], most: int) -> Dynamics:
    """Return a model of this description, of so many layers at most, with no numbers yet."""
    try:
        return _empty(description, most)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FarstepError(f"the model's description is damaged ({error!r}).") from error


def describe_reward(head: RewardHead | None) -> dict[str, Any] | None:
    """Return what `empty_reward` needs; None for a model without a learned reward."""
    if head is None:
        return None
    return {"inputs": head.input_mean.shape[-1], "shape": asdict(head.shape)}


def empty_reward(description: Mapping[str, Any] | None, most: int) -> RewardHead | None:
    """Return a head of this description with shapes in place of numbers."""
    if description is None:
        return None
    inputs, shape = int(description["inputs"]), _shape(description["shape"], most)
    return eqx.filter_eval_shape(lambda: RewardHead.create(jax.random.key(0), inputs, shape))


def _shape(description: Mapping[str, Any], most: int) -> NetworkShape:
    """Return a network's shape; one that is deeper than its file has arrays is damaged."""
    shape = NetworkShape(**description)
    if shape.depth > most:
        raise FarstepError(f"{shape.depth} layers are more than there are arrays.")
    return shape


def _empty(description: Mapping[str, Any], most: int) -> Dynamics:
    if description["kind"] == "ensemble":
        member, size = _empty(description["members"], most), int(description["size"])
        stacked = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((size, *leaf.shape), leaf.dtype), member
        )
        choice, stride = description["choice"], member.stride
        return Ensemble(members=stacked, choice=choice, stride=stride)  # pyright: ignore[reportArgumentType]
    d, k = int(description["states"]), int(description["actions"])
    if description["kind"] == "linear":
        return eqx.filter_eval_shape(LinearDynamics.zeros, d, k)
    form = dict(description["form"])
    form["network"] = _shape(form["network"], most)
    form["angles"] = tuple((int(cos), int(sin)) for cos, sin in form["angles"])
    create = partial(
        NetworkDynamics.create, form=Form(**form), stride=int(description["stride"]), fixed_std=1.0
    )

    def example() -> NetworkDynamics:
        sizes = (d, d, k, k, d, d, d, d)
        return create(jax.random.key(0), Scaling(*(jnp.zeros(size) for size in sizes)))

    return eqx.filter_eval_shape(example)
