"""Model: a fitted model of dynamics with what it was fitted on; what users hold and store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from farstep import tensors
from farstep.choices import Propagation
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.description import (
    describe_dynamics,
    describe_reward,
    empty_dynamics,
    empty_reward,
)
from farstep.dynamics.reward import RewardHead
from farstep.errors import FarstepError
from farstep.fields import check_word
from farstep.files import publish
from farstep.rollout import rollouts
from farstep.signals import Signals

_FORMAT = 1
_REWARD = "reward"
MODEL_FILE = "model.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A model of a system's dynamics, ready to predict."""

    dynamics: Dynamics
    """The pure part: a pytree of functions of arrays."""
    signals: Signals
    """Names, units and bounds of states and actions."""
    system: str | None = None
    """The system it is a model of."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The settings it was fitted with."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: dataset's fingerprint, versions, and the training curve."""
    reward: RewardHead | None = None
    """A learned reward, if it was asked for."""

    def __repr__(self) -> str:
        what = f"{self.signals.num_states} states, {self.signals.num_actions} action(s)"
        ahead = f"trained {self.horizon} step(s) ahead" if self.horizon else "not fitted here"
        of = f" of {self.system}" if self.system else ""
        return f"Model{of}: {type(self.dynamics).__name__}, {what}, {ahead}"

    @property
    def horizon(self) -> int | None:
        """How many compositions ahead it was trained; None if it was not fitted here."""
        if self.config.get("model") == "linear":
            return 1
        return self.record.get("auto", self.config).get("horizon")

    def predict(self, states: ArrayLike, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the next states, of one state or many.

        Args:
            states: (…, d).
            actions: (…, k); (…, h, k) for a model that spans h steps.
        """
        given = np.asarray(actions, np.float32)
        if self.dynamics.stride == 1:
            given = given[..., None, :]
        mean, std = self.rollout(states, given)
        return mean[..., 0, :], std[..., 0, :]

    def rollout(
        self,
        states: ArrayLike,
        actions: ArrayLike,
        propagation: Propagation = "mean",
        seed: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations of the states that follow, step after step.

        Args:
            states: Where to start, (…, d).
            actions: What is done, (…, steps, k).
            propagation: Feed back the `mean`, or a `sample`.
            seed: For samples, and for ensembles that choose members at random.

        Returns:
            Two arrays (…, steps, d); (…, steps / h, d) for a model that spans h steps at once.
        """
        start, given = np.asarray(states, np.float32), np.asarray(actions, np.float32)
        d, k, stride = self.signals.num_states, self.signals.num_actions, self.dynamics.stride
        steps = given.shape[-2] if given.ndim > 1 else 0
        if start.shape[-1:] != (d,) or given.shape != (*start.shape[:-1], steps, k):
            raise FarstepError(
                f"states of shape {start.shape} and actions of shape {given.shape} do not fit; "
                f"give states (…, {d}) and actions (…, steps, {k}) with the same leading axes."
            )
        if not (np.isfinite(start).all() and np.isfinite(given).all()):
            raise FarstepError("a state or an action is not finite; a rollout needs numbers.")
        check_word("propagation", propagation, get_args(Propagation))
        if steps == 0 or steps % stride:
            raise FarstepError(f"{steps} steps were asked for; give a multiple of {stride}.")
        flat = jnp.asarray(start.reshape(-1, d)), jnp.asarray(given.reshape(-1, steps, k))
        keys = jax.random.split(jax.random.key(seed), len(flat[0]))
        mean, log_std = rollouts(self.dynamics, *flat, keys, propagation)
        shape = (*start.shape[:-1], steps // stride, d)
        return np.asarray(mean).reshape(shape), np.exp(log_std).reshape(shape)

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the model to one safetensors file; `load_model` reads it back to the bit."""
        path = Path(path)
        header = {
            "format": _FORMAT,
            "dynamics": describe_dynamics(self.dynamics),
            "reward": describe_reward(self.reward),
            "signals": self.signals.to_json(),
            "system": self.system,
            "config": dict(self.config),
            "record": dict(self.record),
        }
        arrays = {
            **tensors.to_arrays(self.dynamics),
            **tensors.to_arrays(self.reward, _REWARD),
        }
        publish(path, {"": tensors.encode(arrays, header)}, force)
        return path


def load_model(path: str | Path) -> Model:
    """Load a model from a file, or from the directory that `farstep fit` wrote."""
    path = Path(path)
    if path.is_dir():
        begun = not (path / MODEL_FILE).exists() and any(path.glob("*-0.safetensors"))
        path = path / MODEL_FILE
        if begun:
            raise FarstepError(
                f"there is no model at {path} yet: the fit there is not finished. The same farstep "
                "fit goes on with it."
            )
    arrays, header = tensors.decode(path, "model")
    if "dynamics" not in header:
        raise FarstepError(f"{path} holds no model; if it is a policy, read it with load_policy.")
    with tensors.understood(path, "model"):
        if header["format"] != _FORMAT:
            raise FarstepError(f"is of format {header['format']}; install a newer Farstep.")
        return Model(
            dynamics=tensors.from_arrays(empty_dynamics(header["dynamics"], len(arrays)), arrays),
            signals=Signals.from_json(header["signals"]),
            system=header["system"],
            config=dict(header["config"]),
            reward=tensors.from_arrays(
                empty_reward(header.get("reward"), len(arrays)), arrays, _REWARD
            ),
            record=dict(header["record"]),
        )
