"""Model: fitted dynamics with signals, configuration and record, as users hold and store them."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from farstep.choices import Propagation
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError
from farstep.models.contract import Dynamics
from farstep.models.description import (
    describe_dynamics,
    describe_reward,
    empty_dynamics,
    empty_reward,
)
from farstep.models.ensemble import Ensemble
from farstep.models.network_dynamics import NetworkDynamics
from farstep.models.normalizer import Normalizer
from farstep.models.reward import RewardHead
from farstep.models.rollout import rollouts
from farstep.settings import check_choice
from farstep.storage import tensors
from farstep.storage.files import publish
from farstep.storage.run_directory import CONFIG_FILE, read_json

_FORMAT = 2
_REWARD = "reward"
MODEL_FILE = "model.safetensors"
_FAR = 0.1
"""Share of the training range by which an observation may lie outside it without a warning."""


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A model of a system's dynamics, ready to predict."""

    dynamics: Dynamics
    """The pure part: a pytree of arrays and functions."""
    signals: Signals
    """Names, units and bounds of observations and actions."""
    system: str | None = None
    """The name of the system that it models."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The fields of `FitConfig` that it was fitted with."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """How it was fitted: fingerprints of the fit and its data, versions, and training curves."""
    reward: RewardHead | None = None
    """A learned reward, if there is one."""

    def __repr__(self) -> str:
        sizes = f"{self.signals.num_observations} observations, {self.signals.num_actions} actions"
        trained = f", trained {self.horizon} steps ahead" if self.horizon else ""
        system = f" of {self.system}" if self.system else ""
        return f"Model{system}: {type(self.dynamics).__name__}, {sizes}{trained}"

    @property
    def horizon(self) -> int | None:
        """The horizon that it was trained at, in model steps; None if `fit` did not make it."""
        if self.config.get("model") == "linear":
            return 1
        return self.record.get("horizon_choice", self.config).get("horizon")

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of its fit: equal for the same configuration and data."""
        return self.record.get("fingerprint")

    def predict(self, observations: ArrayLike, actions: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation of the next observations, of one or many.

        Args:
            observations: (…, d).
            actions: (…, k); (…, h, k) for a model with a fixed horizon h.
        """
        given = np.asarray(actions, np.float32)
        if self.dynamics.fixed_horizon == 1:
            given = given[..., None, :]
        mean, std = self.rollout(observations, given)
        return mean[..., 0, :], std[..., 0, :]

    def rollout(
        self,
        observations: ArrayLike,
        actions: ArrayLike,
        propagation: Propagation = "mean",
        seed: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard deviations of the observations that follow, step by step.

        Args:
            observations: Where each rollout starts, (…, d).
            actions: The actions of each rollout, (…, steps, k).
            propagation: Feed back the `mean`, or a `sample`.
            seed: For samples, and for ensembles that draw members at random.

        Returns:
            Two arrays (…, steps, d); (…, steps / h, d) for a model with a fixed horizon h.
        """
        start, given = np.asarray(observations, np.float32), np.asarray(actions, np.float32)
        d, k, h = (
            self.signals.num_observations,
            self.signals.num_actions,
            self.dynamics.fixed_horizon,
        )
        steps = given.shape[-2] if given.ndim > 1 else 0
        if start.shape[-1:] != (d,) or given.shape != (*start.shape[:-1], steps, k):
            raise FarstepError(
                f"observations of shape {start.shape} and actions of shape {given.shape} do not "
                f"match; give (…, {d}) and (…, steps, {k}) with the same leading axes."
            )
        if not (np.isfinite(start).all() and np.isfinite(given).all()):
            raise FarstepError("observations and actions must be finite; some are NaN or infinite.")
        check_choice("propagation", propagation, get_args(Propagation))
        if steps == 0 or steps % h:
            raise FarstepError(f"the number of steps must be a multiple of {h}, not {steps}.")
        self._warn_outside(start.reshape(-1, d), given.reshape(-1, k))
        flat = jnp.asarray(start.reshape(-1, d)), jnp.asarray(given.reshape(-1, steps, k))
        keys = jax.random.split(jax.random.key(seed), len(flat[0]))
        mean, log_std = rollouts(self.dynamics, *flat, keys, propagation)
        shape = (*start.shape[:-1], steps // h, d)
        return np.asarray(mean).reshape(shape), np.exp(log_std).reshape(shape)

    @property
    def normalizer(self) -> Normalizer | None:
        """A network's statistics of its training data; an ensemble's members share them."""
        dynamics = self.dynamics
        if isinstance(dynamics, Ensemble):
            dynamics = dynamics.member(0)
        return dynamics.normalizer if isinstance(dynamics, NetworkDynamics) else None

    def _warn_outside(self, observations: np.ndarray, actions: np.ndarray) -> None:
        """Warn of actions out of their bounds, and of observations far from the training data."""
        found = {"action": self.signals.outside_bounds(actions)}
        if (known := self.normalizer) is not None:
            low, high = np.asarray(known.observation_low), np.asarray(known.observation_high)
            margin = _FAR * np.maximum(high - low, np.asarray(known.observation_std))
            found["observation"] = (observations < low - margin) | (observations > high + margin)
        for kind, outside in found.items():
            if outside.any():
                names = np.array(getattr(self.signals, f"{kind}_names"))[outside.any(axis=0)]
                where = "their bounds" if kind == "action" else "the range of the training data"
                warnings.warn(
                    f"{int(outside.any(axis=1).sum())} {kind}(s) are outside {where} "
                    f"({', '.join(names)}): the prediction is an extrapolation.",
                    DataWarning,
                    stacklevel=3,
                )

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the model to one safetensors file; `load_model` restores it bit-identically."""
        publish(Path(path), {"": self.to_bytes()}, force)
        return Path(path)

    def to_bytes(self) -> bytes:
        """Return the contents of the model's file."""
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
        return tensors.encode(arrays, header)


def load_model(path: str | Path) -> Model:
    """Load a model from a file, or from the directory of a fit."""
    path = Path(path)
    if path.is_dir():
        unfinished = not (path / MODEL_FILE).exists() and read_json(path / CONFIG_FILE)
        if unfinished and unfinished.get("kind") == "fit":
            raise FarstepError(
                f"the fit in {path} is not finished; run the same fit again to continue it."
            )
        path = path / MODEL_FILE
    arrays, header = tensors.decode(path, "model")
    if "dynamics" not in header:
        raise FarstepError(f"{path} holds no model; if it is a policy, use load_policy.")
    with tensors.understood(path, "model"):
        if header["format"] != _FORMAT:
            raise FarstepError(
                f"its format is {header['format']}, this Farstep reads {_FORMAT}; fit it again, or "
                "install the version that wrote it."
            )
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
