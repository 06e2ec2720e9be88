"""The settings of a fit: one flat list that Python, the command line and files share."""

from dataclasses import dataclass
from typing import Any, Literal

from farstep.choices import (
    Activation,
    EnsembleMode,
    Loss,
    LossScale,
    Normalisation,
    Propagation,
    Target,
)
from farstep.data.signals import check_pairs
from farstep.errors import FarstepError
from farstep.settings import check_fields, chosen


@dataclass(frozen=True)
class FitConfig:
    """Everything about a fit but the data. The defaults are the preset `default`."""

    # The objective
    horizon: int = 20
    """Training horizon h: the losses 1 to h model steps ahead are weighted and summed. With weights
    auto it is the upper limit of the chosen h."""
    weights: str = "auto"
    """auto (uniform, and h chosen from the data), uniform, decay:0.75, explicit:0.3,0.7,
    proportional, learned, learned:0.1 (with an entropy bonus) or module:attribute."""
    loss: Loss = "mse"
    """mse (fixed standard deviation) or nll (learned standard deviation)."""
    loss_scale: LossScale = "observation"
    """Unit of the errors: standard deviations of the observations, or of the target."""
    propagation: Propagation = "mean"
    """What is fed into the next model step: the mean, or a sample."""
    truncate_gradient: int | None = None
    """Cut the gradient after this many model steps; None lets it flow through all of them."""
    observer_steps: int = 0
    """Recorded steps before each window, from which an observer estimates the window's first state;
    fewer if episodes are short. For noisy observations. No gradient flows through them."""

    # The model
    model: Literal["network", "linear"] = "network"
    """linear is fitted in closed form, one step ahead; most other settings do not apply to it."""
    target: Target = "delta"
    """Predict the next observation, or its difference from the present one."""
    fixed_horizon: int = 1
    """Steps that one prediction spans; above 1 this is the paper's fixed-horizon model."""
    width: int = 128
    """Units of a hidden layer."""
    depth: int = 3
    """Hidden layers."""
    activation: Activation = "silu"
    """Of the hidden layers."""
    normalisation: Normalisation = "none"
    """Of the hidden layers."""
    dropout: float = 0.0
    """Share of hidden units dropped in training."""
    residual: bool = True
    """Whether each hidden layer but the first is added to the one before it."""
    fixed_std: float = 0.1
    """Standard deviation in training with mse, in units of the target's; measured afterwards."""
    angles: tuple[tuple[int, int], ...] = ()
    """(cos, sin) pairs of observation dimensions to project onto the circle."""
    bounds: float | None = None
    """Keep predictions within the training range, widened by this share; None for no bounds."""

    # The optimiser
    model_steps: int | None = 40_000
    """Training ends after about this many model steps (updates times h). None for no limit."""
    epochs: int | None = None
    """Training ends after this many passes over the data. None for no limit."""
    batch_size: int = 256
    """Windows in one update."""
    learning_rate: float = 6e-3
    """Of Adam."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """cosine falls to zero over all updates."""
    max_grad_norm: float | None = 1.0
    """Clip the gradient to this norm."""
    weight_decay: float = 0.0
    """Of AdamW, decoupled; of the layers' weights only."""
    ema_decay: float | None = None
    """Decay of a running average of the weights (0.999), which is validated and kept."""
    input_noise: float = 0.0
    """Training noise on each window's first state, in standard deviations of the observations."""
    rematerialise: bool = False
    """Save memory at long horizons by computing activations twice."""

    # When to stop
    validation_metric: Literal["one-step", "objective", "r2"] = "objective"
    """Keep the weights of the epoch that is best on the validation episodes, by the loss one step
    ahead, the weighted objective or the mean R²."""
    r2_horizon: int = 50
    """For r2: the mean over 1 to this many steps ahead."""
    patience: int | None = None
    """Stop after this many epochs without improvement; None trains to the end."""

    # Several
    ensemble_size: int = 1
    """Above 1 an ensemble of this many members is fitted."""
    bootstrap: bool = True
    """Whether each member draws its windows with replacement; otherwise all share the same."""
    ensemble_mode: EnsembleMode = "mean"
    """Predict the mean of all members, a random member each step, or one for a whole rollout."""
    seed: int = 0
    """Of initial weights, batches, dropout and bootstrap."""

    def __post_init__(self) -> None:
        at_least = {
            "horizon": 1, "fixed_horizon": 1, "width": 1, "depth": 0, "model_steps": 1,
            "batch_size": 1, "r2_horizon": 1, "ensemble_size": 1, "seed": 0, "observer_steps": 0,
            "epochs": 1, "patience": 1, "truncate_gradient": 1, "weight_decay": 0,
            "input_noise": 0, "bounds": 0,
        }  # fmt: skip
        positive = ("learning_rate", "fixed_std", "max_grad_norm", "ema_decay")
        check_fields(self, at_least, positive, between_0_and_1=("dropout", "ema_decay"))
        wrong = {
            "dropout must be below 1.": self.dropout == 1,
            "ema_decay must be below 1.": self.ema_decay == 1,
            "epochs and model_steps are both None: set one of them.": (
                self.epochs is None and self.model_steps is None
            ),
            "ema_decay does not average batch statistics; choose normalisation none or layer.": (
                self.ema_decay is not None and self.normalisation == "batch"
            ),
            "an observer needs a one-step model; set observer_steps to 0 or fixed_horizon to 1.": (
                self.observer_steps > 0 and self.fixed_horizon != 1
            ),
            "the linear model is fitted one step ahead; set fixed_horizon to 1.": (
                self.model == "linear" and self.fixed_horizon != 1
            ),
            "an ensemble of linear models is not supported; set ensemble_size to 1.": (
                self.model == "linear" and self.ensemble_size > 1
            ),
        }
        for message, is_wrong in wrong.items():
            if is_wrong:
                raise FarstepError(message)
        check_pairs(self.angles)

    @property
    def window_steps(self) -> int:
        """Recorded steps that one training window takes."""
        return self.observer_steps + self.horizon * self.fixed_horizon

    def max_epochs(self, updates: int) -> int:
        """Return after how many epochs of so many updates training ends at the latest."""
        limits = []
        if self.epochs is not None:
            limits.append(self.epochs)
        if self.model_steps is not None:
            limits.append(-(-self.model_steps // (updates * self.horizon)))
        return min(limits)


PRESETS = {
    "default": FitConfig(),
    "ensemble": FitConfig(ensemble_size=3, observer_steps=20),
    "fast": FitConfig(model_steps=20_000),
    "paper": FitConfig(
        horizon=1,
        weights="uniform",
        target="next",
        width=256,
        depth=2,
        activation="tanh",
        normalisation="batch",
        dropout=0.1,
        residual=False,
        model_steps=None,
        epochs=100,
        batch_size=64,
        learning_rate=1e-3,
        schedule="constant",
        max_grad_norm=None,
        patience=20,
    ),
}
"""`default`: what we would use. `ensemble`: three of it with an observer, to train agents in.
`fast`: half as long, for models that are fitted again after each real episode. `paper`: the paper's
network and training."""
FitPreset = Literal["default", "ensemble", "fast", "paper"]


def fit_config(preset: str = "default", **settings: Any) -> FitConfig:
    """Return a preset with some fields replaced."""
    return chosen(preset, PRESETS, "default", settings)
