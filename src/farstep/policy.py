"""Policy: what an agent has learned, as a function of states that needs nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from farstep import tensors
from farstep.errors import FarstepError
from farstep.files import publish
from farstep.signals import Signals

POLICY_FILE = "policy.safetensors"
"""The last policy, in the directory of an agent."""
_FORMAT = 1
_ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0.0), "tanh": np.tanh}
LOG_STD_RANGE = (-20.0, 2.0)
"""Of actors, as in Stable-Baselines3."""


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """A network from a state to an action, in NumPy: it runs without the model and without JAX."""

    layers: Sequence[tuple[np.ndarray, np.ndarray]]
    """Weight (inputs, outputs) and bias of each; the last gives the action before `output`."""
    signals: Signals
    """Names, units and bounds of states and actions."""
    system: str | None = None
    """The system it was trained for."""
    activation: Literal["relu", "tanh"] = "relu"
    """Between the layers."""
    output: Literal["squash", "clip"] = "squash"
    """`squash`: tanh, then stretched to the bounds. `clip`: cut off at the bounds."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: settings, curve, versions."""

    def __repr__(self) -> str:
        """One line, without the numbers."""
        sizes = [self.layers[0][0].shape[0], *(weight.shape[1] for weight, _ in self.layers)]
        return f"Policy for {self.system}: {'-'.join(map(str, sizes))}, {self.activation}"

    def __call__(self, states: ArrayLike, rng: np.random.Generator | None = None) -> np.ndarray:
        """Return the action (k,) for a state (d,), or actions (…, k) for states (…, d).

        Always the most likely one: `rng` is taken so that this is a policy for `collect`, and not
        used. `sample` draws.
        """
        del rng
        return self._to_action(self._output(states)[..., : self.signals.num_actions])

    def sample(self, states: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Draw actions as the agent did in training, where it was random."""
        output, k = self._output(states), self.signals.num_actions
        if output.shape[-1] != 2 * k:
            raise FarstepError("this policy has no standard deviation to sample with.")
        mean, log_std = output[..., :k], np.clip(output[..., k:], *LOG_STD_RANGE)
        return self._to_action(mean + np.exp(log_std) * rng.standard_normal(mean.shape))

    def _output(self, states: ArrayLike) -> np.ndarray:
        x = np.asarray(states, np.float32)
        if x.shape[-1:] != (self.signals.num_states,):
            raise FarstepError(
                f"states of shape {x.shape} do not fit; this policy takes (…, "
                f"{self.signals.num_states}): {', '.join(self.signals.state_names)}."
            )
        if not np.isfinite(x).all():
            raise FarstepError("a state is not finite: there is no action for it.")
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
    def digest(self) -> str:
        """A hash that is the same for the same actions."""
        layers = tensors.digest(_arrays(self.layers))
        return f"{layers} {self.activation} {self.output} {self.signals.to_json()}"

    def check_fits(self, signals: Signals, system: str) -> None:
        """Fail with one line if this is a policy for something else."""
        if not self.signals.same_names(signals):
            raise FarstepError(
                f"the policy is for {self.system or 'a system'} with states "
                f"{', '.join(self.signals.state_names)} and actions "
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


def load_policy(path: str | Path) -> Policy:
    """Load a policy from a file, or the last one from a directory that an agent was trained in.

    Loading never runs code.
    """
    path = Path(path)
    path = path / POLICY_FILE if path.is_dir() else path
    arrays, header = tensors.decode(path, "policy")
    with tensors.understood(path, "policy"):
        if "policy" not in header:
            raise FarstepError("it holds something else.")
        if header["format"] != _FORMAT:
            raise FarstepError(f"is of format {header['format']}; install a newer Farstep.")
        form = header["policy"]
        if form["activation"] not in _ACTIVATIONS or form["output"] not in ("squash", "clip"):
            raise FarstepError(f"its form {form} is unknown.")
        signals = Signals.from_json(header["signals"])
        bounds = np.array([*signals.action_low, *signals.action_high])
        if form["output"] == "squash" and not (abs(bounds) < np.finfo(np.float32).max).all():
            raise FarstepError("its actions are stretched to bounds, but they have none.")
        return Policy(
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
    size = signals.num_states
    for weight, bias in layers:
        if weight.shape != (size, len(bias)):
            raise FarstepError(f"a layer of shape {weight.shape} follows one of {size} outputs.")
        size = len(bias)
    if size not in (signals.num_actions, 2 * signals.num_actions):
        raise FarstepError(f"it gives {size} numbers for {signals.num_actions} actions.")
    return layers
