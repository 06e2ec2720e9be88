"""NetworkPolicy: an agent's policy, which runs without the model and without JAX."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from farstep.data.signals import Signals
from farstep.errors import FarstepError
from farstep.storage import tensors
from farstep.storage.files import publish
from farstep.storage.fingerprint import fingerprint_of

POLICY_FILE = "policy.safetensors"
"""An agent's last policy, in its directory."""
_FORMAT = 1
_ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}
LOG_STD_RANGE = (-20.0, 2.0)
"""Of actors, as in Stable-Baselines3."""


@dataclass(frozen=True, eq=False, repr=False)
class NetworkPolicy:
    """A network from observations to actions, in NumPy."""

    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    """Weight (inputs, outputs) and bias of each; the last one's result goes through `output`."""
    signals: Signals
    """Names, units and bounds of observations and actions."""
    system: str | None = None
    """The system it was trained for."""
    activation: Literal["relu", "tanh"] = "relu"
    """Between layers."""
    output: Literal["squash", "clip"] = "squash"
    """`squash`: tanh, scaled to the bounds. `clip`: clipped to the bounds."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Settings, curve and versions of its training."""

    def __repr__(self) -> str:
        """Return one line, without the weights."""
        sizes = [self.layers[0][0].shape[0], *(weight.shape[1] for weight, _ in self.layers)]
        return f"Policy for {self.system}: {'-'.join(map(str, sizes))}, {self.activation}"

    def predict(self, observations: ArrayLike) -> np.ndarray:
        """Return the most likely action (k,) for an observation (d,), or (…, k) for (…, d)."""
        return self._to_action(self._output(observations)[..., : self.signals.num_actions])

    def sample(self, observations: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Draw actions as the agent did in training; policies without a deviation cannot."""
        output, k = self._output(observations), self.signals.num_actions
        if output.shape[-1] != 2 * k:
            raise FarstepError("this policy has no standard deviation to sample with; use predict.")
        mean, log_std = output[..., :k], np.clip(output[..., k:], *LOG_STD_RANGE)
        return self._to_action(mean + np.exp(log_std) * rng.standard_normal(mean.shape))

    def _output(self, observations: ArrayLike) -> np.ndarray:
        x = np.asarray(observations, np.float32)
        if x.shape[-1:] != (self.signals.num_observations,):
            raise FarstepError(
                f"observations of shape {x.shape} do not fit; this policy takes (…, "
                f"{self.signals.num_observations}): {', '.join(self.signals.observation_names)}."
            )
        if not np.isfinite(x).all():
            raise FarstepError("an observation is not finite; repair it.")
        *hidden, (last, bias) = self.layers
        for weight, shift in hidden:
            x = _ACTIVATIONS[self.activation](x @ weight + shift)
        return x @ last + bias

    def _to_action(self, output: np.ndarray) -> np.ndarray:
        low, high = (
            np.asarray(b, np.float32) for b in (self.signals.action_low, self.signals.action_high)
        )
        if self.output == "squash":
            output = low + (np.tanh(output) + 1) / 2 * (high - low)
        return np.clip(output, low, high).astype(np.float32)

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of everything that the actions depend on."""
        form = [self.activation, self.output, self.signals.to_json()]
        return fingerprint_of(layers=tensors.digest(_arrays(self.layers)), form=form)

    def check_fits(self, signals: Signals, system: str) -> None:
        """Fail unless the policy's observations and actions are these."""
        if not self.signals.same_names(signals):
            raise FarstepError(
                f"the policy is for {self.system or 'a system'} with observations "
                f"{', '.join(self.signals.observation_names)} and actions "
                f"{', '.join(self.signals.action_names)}; it does not fit system '{system}'."
            )

    def save(self, path: str | Path, force: bool = False) -> Path:
        """Write the policy to one safetensors file; `load_policy` reads it back."""
        path = Path(path)
        header = {
            "format": _FORMAT,
            "policy": {"activation": self.activation, "output": self.output},
            "signals": self.signals.to_json(),
            "system": self.system,
            "record": dict(self.record),
        }
        publish(path, {"": tensors.encode(_arrays(self.layers), header)}, force)
        return path


def load_policy(path: str | Path) -> NetworkPolicy:
    """Load a policy from a file, or the last one from an agent's directory; this runs no code."""
    path = Path(path)
    path = path / POLICY_FILE if path.is_dir() else path
    arrays, header = tensors.decode(path, "policy")
    with tensors.understood(path, "policy"):
        if "policy" not in header:
            raise FarstepError("it holds no policy.")
        if header["format"] != _FORMAT:
            raise FarstepError(f"it has format {header['format']}; install a newer Farstep.")
        form = header["policy"]
        if form["activation"] not in _ACTIVATIONS or form["output"] not in ("squash", "clip"):
            raise FarstepError(f"its form {form} is unknown.")
        signals = Signals.from_json(header["signals"])
        bounds = np.array([*signals.action_low, *signals.action_high])
        if form["output"] == "squash" and not (abs(bounds) < np.finfo(np.float32).max).all():
            raise FarstepError("its actions are scaled to bounds, but have none.")
        return NetworkPolicy(
            layers=_layers(arrays, signals),
            signals=signals,
            system=header["system"],
            activation=form["activation"],
            output=form["output"],
            record=dict(header["record"]),
        )


def _arrays(layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    named = {}
    for number, (weight, bias) in enumerate(layers):
        named[f"{number}.weight"], named[f"{number}.bias"] = np.asarray(weight), np.asarray(bias)
    return named


def _layers(
    arrays: Mapping[str, np.ndarray], signals: Signals
) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    count = len(arrays) // 2
    layers = tuple((arrays[f"{n}.weight"], arrays[f"{n}.bias"]) for n in range(count))
    size = signals.num_observations
    for weight, bias in layers:
        if weight.shape != (size, len(bias)):
            raise FarstepError(f"a layer of shape {weight.shape} follows one of {size} outputs.")
        size = len(bias)
    if size not in (signals.num_actions, 2 * signals.num_actions):
        raise FarstepError(f"it gives {size} numbers for {signals.num_actions} actions.")
    return layers
