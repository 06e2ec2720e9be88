"""The settings of a fit: one flat list that the API, the command line and files share."""

from dataclasses import dataclass
from typing import Literal

from farstep.choices import (
    Activation,
    Choice,
    Loss,
    Normalisation,
    Propagation,
    Target,
    Units,
    truncation,
)
from farstep.errors import FarstepError
from farstep.fields import check_least, check_words


@dataclass(frozen=True)
class FitConfig:
    """Everything about a fit but the data. The defaults are the paper's."""

    # The objective
    horizon: int = 1
    """Steps ahead, h: the losses at 1 to h compositions are summed."""
    weights: str = "uniform"
    """uniform, decay:0.75, explicit:0.3,0.7, proportional, learned or learned:0.1 (entropy)."""
    loss: Loss = "mse"
    """mse (standard deviation fixed) or nll (learned)."""
    units: Units = "state"
    """Of errors: the states' standard deviations, or those of the target (differences)."""
    propagation: Propagation = "mean"
    """What is fed into the next composition: the mean, or a sample."""
    gradient: str = "full"
    """full flows through all compositions; truncated:3 is cut after every 3."""

    # The model
    model: Literal["network", "linear"] = "network"
    """linear is fitted in closed form, one step ahead; the other settings do not touch it."""
    target: Target = "next"
    """Predict the next state, or its difference (delta) from this one."""
    stride: int = 1
    """Steps that one prediction spans; above 1 it is the paper's direct model."""
    width: int = 256
    """Units of a hidden layer."""
    depth: int = 2
    """Hidden layers."""
    activation: Activation = "tanh"
    """Of the hidden layers."""
    normalisation: Normalisation = "batch"
    """Of the hidden layers."""
    dropout: float = 0.1
    """Share of units dropped in training."""
    residual: bool = False
    """Add each hidden layer but the first to the one before it."""
    fixed_std: float = 0.1
    """Standard deviation in training with mse, in units of the target's; then it is measured."""
    angles: tuple[tuple[int, int], ...] = ()
    """(cos, sin) pairs of state dimensions to project onto the circle."""
    bounds: float | None = None
    """Keep predicted states within the training range, widened by this share of it."""

    # The optimiser
    epochs: int = 100
    """At most."""
    batch: int = 64
    """Windows in one update; batches differ by at most one."""
    learning_rate: float = 1e-3
    """Of Adam."""
    schedule: Literal["constant", "cosine"] = "constant"
    """cosine falls to zero over all epochs."""
    clip: float | None = None
    """Largest gradient norm."""
    weight_decay: float = 0.0
    """Of AdamW: the share of layers' weights, times the learning rate, that an update takes."""
    average: float | None = None
    """Decay of a running average of the weights (0.999), which is validated and kept."""
    input_noise: float = 0.0
    """Noise on each window's first state in training, in units of the states' deviation."""
    rematerialise: bool = False
    """Save memory at long horizons by computing activations twice."""

    # When to stop
    stop_on: Literal["one-step", "objective", "r2"] = "objective"
    """Validation score: loss one step ahead, the weighted objective, or mean R² over horizons."""
    r2_horizon: int = 50
    """For r2: the mean is over 1 to this many steps ahead."""
    patience: int = 20
    """Epochs without a better score before stopping; the best weights are kept."""

    # Several
    members: int = 1
    """Above 1 an ensemble is fitted."""
    bootstrap: bool = True
    """Each member draws its windows with replacement; otherwise all share the same."""
    choice: Choice = "mean"
    """What the ensemble predicts: the mean, a random member a step, or one a rollout."""
    seed: int = 0
    """Of initial weights, batches, dropout and bootstrap."""

    def check(self) -> None:
        """Fail with one line if a setting makes no sense."""
        least = {
            "horizon": 1, "stride": 1, "width": 1, "depth": 0, "epochs": 1, "batch": 1,
            "r2_horizon": 1, "patience": 1, "members": 1, "seed": 0,
        }  # fmt: skip
        check_least(least, vars(self))
        check_words(FitConfig, vars(self))
        for name in ("learning_rate", "fixed_std", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise FarstepError(f"{name} must be above 0, not {value:g}.")
        if not 0 <= self.dropout < 1:
            raise FarstepError(f"dropout must be at least 0 and below 1, not {self.dropout:g}.")
        for name in ("weight_decay", "input_noise"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise FarstepError(f"{name} must be 0 or more, not {getattr(self, name):g}.")
        if self.average is not None and not 0 < self.average < 1:
            raise FarstepError(f"average must lie between 0 and 1, not {self.average:g}.")
        if self.average is not None and self.normalisation == "batch":
            raise FarstepError(
                "the statistics of batch normalisation are not of averaged weights; choose "
                "normalisation none or layer."
            )
        if self.bounds is not None and not 0 <= self.bounds < float("inf"):
            raise FarstepError(f"bounds must be 0 or more, not {self.bounds:g}.")
        truncation(self.gradient)
        if self.model == "linear" and (self.horizon, self.stride) != (1, 1):
            raise FarstepError("the linear model is fitted one step ahead; leave horizon at 1.")
        if self.model == "linear" and self.members > 1:
            raise FarstepError("an ensemble of linear models is not fitted; leave members at 1.")
        if any(len(pair) != 2 or pair[0] == pair[1] for pair in self.angles):
            raise FarstepError(f"angles {self.angles} must be pairs of two different dimensions.")


PAPER = FitConfig()
"""The paper's settings: what identities are told by the differences from."""
