"""The settings of a fit: one flat list that the API, the command line and files share."""

from dataclasses import dataclass
from typing import Any, Literal

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
from farstep.fields import check_least, check_word, check_words, replaced
from farstep.signals import check_pairs


@dataclass(frozen=True)
class FitConfig:
    """Everything about a fit but the data. The defaults are those of the preset `recommended`."""

    # The objective
    horizon: int = 20
    """Steps ahead, h: the losses at 1 to h compositions are summed. At most, with weights auto."""
    weights: str = "auto"
    """auto (uniform, and h chosen from the data), uniform, decay:0.75, explicit:0.3,0.7,
    proportional, learned or learned:0.1 (entropy)."""
    loss: Loss = "mse"
    """mse (standard deviation fixed) or nll (learned)."""
    units: Units = "state"
    """Of errors: the states' standard deviations, or those of the target (differences)."""
    propagation: Propagation = "mean"
    """What is fed into the next composition: the mean, or a sample."""
    gradient: str = "full"
    """full flows through all compositions; truncated:3 is cut after every 3."""
    settle: int = 0
    """Steps before each window, at most as many as the data allow, in which an observer, made of
    the model, finds where it starts, in place of one reading of noisy sensors; no gradient flows
    through it."""

    # The model
    model: Literal["network", "linear"] = "network"
    """linear is fitted in closed form, one step ahead; the other settings do not touch it."""
    target: Target = "delta"
    """Predict the next state, or its difference (delta) from this one."""
    stride: int = 1
    """Steps that one prediction spans; above 1 it is the paper's direct model."""
    width: int = 128
    """Units of a hidden layer."""
    depth: int = 3
    """Hidden layers."""
    activation: Activation = "silu"
    """Of the hidden layers."""
    normalisation: Normalisation = "none"
    """Of the hidden layers."""
    dropout: float = 0.0
    """Share of units dropped in training."""
    residual: bool = True
    """Whether each hidden layer but the first is added to the one before it."""
    fixed_std: float = 0.1
    """Standard deviation in training with mse, in units of the target's; then it is measured."""
    angles: tuple[tuple[int, int], ...] = ()
    """(cos, sin) pairs of state dimensions to project onto the circle."""
    bounds: float | None = None
    """Keep predicted states within the training range, widened by this share of it."""

    # The optimiser
    compositions: int = 40_000
    """Updates times h, about, so that a fit without `settle` costs the same for any h. Epochs, if
    given, count."""
    epochs: int | None = None
    """Passes over the data, at most, in place of a number of compositions."""
    batch: int = 256
    """Windows in one update; batches differ by at most one."""
    learning_rate: float = 6e-3
    """Of Adam."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """cosine falls to zero over all updates."""
    clip: float | None = 1.0
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
    patience: int | None = None
    """Epochs without a better score before stopping; None goes on to the end. In either case the
    best weights are kept."""

    # Several
    members: int = 1
    """Above 1 an ensemble is fitted."""
    bootstrap: bool = True
    """Whether each member draws its windows with replacement; otherwise all share the same."""
    choice: Choice = "mean"
    """What the ensemble predicts: the mean, a random member a step, or one a rollout."""
    seed: int = 0
    """Of initial weights, batches, dropout and bootstrap."""

    @property
    def span(self) -> int:
        """Recorded steps that one window takes."""
        return self.settle + self.horizon * self.stride

    @property
    def composition_cost(self) -> float:
        """What a composition costs with its share of the observer, whose steps only go forward.

        A composition alone, which goes forward and back, is three times as much as such a step.
        """
        return 1 + self.settle / (3 * self.horizon)

    def passes(self, updates: int) -> int:
        """Return how many epochs of some updates there are at most."""
        return self.epochs or -(-self.compositions // (updates * self.horizon))

    def check(self) -> None:
        """Fail with one line if a setting makes no sense."""
        least = {
            "horizon": 1, "stride": 1, "width": 1, "depth": 0, "compositions": 1, "batch": 1,
            "r2_horizon": 1, "members": 1, "seed": 0, "settle": 0,
        }  # fmt: skip
        check_least(least, vars(self))
        optional = ("epochs", "patience")
        check_least({name: 1 for name in optional if getattr(self, name) is not None}, vars(self))
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
        if self.settle and self.stride != 1:
            raise FarstepError("an observer goes by single steps; leave stride or settle alone.")
        if self.model == "linear" and self.stride != 1:
            raise FarstepError("the linear model is fitted one step ahead; leave stride at 1.")
        if self.model == "linear" and self.members > 1:
            raise FarstepError("an ensemble of linear models is not fitted; leave members at 1.")
        check_pairs(self.angles)


PAPER = FitConfig(
    horizon=1,
    weights="uniform",
    loss="mse",
    units="state",
    propagation="mean",
    gradient="full",
    settle=0,
    model="network",
    target="next",
    stride=1,
    width=256,
    depth=2,
    activation="tanh",
    normalisation="batch",
    dropout=0.1,
    residual=False,
    fixed_std=0.1,
    angles=(),
    bounds=None,
    compositions=40_000,
    epochs=100,
    batch=64,
    learning_rate=1e-3,
    schedule="constant",
    clip=None,
    weight_decay=0.0,
    average=None,
    input_noise=0.0,
    rematerialise=False,
    stop_on="objective",
    r2_horizon=50,
    patience=20,
    members=1,
    bootstrap=True,
    choice="mean",
    seed=0,
)
"""The paper's settings. Fits are told by what differs from them, so every field has its value here,
whatever becomes of the defaults."""
PRESETS = {
    "recommended": FitConfig(),
    "ensemble": FitConfig(members=3, settle=20),
    "brief": FitConfig(compositions=20_000),
    "paper": PAPER,
}
"""`recommended`: what `benchmarks/model_study.py` found. `brief`: half as long, for models that are
fitted again after each real episode. `ensemble`: three of the recommended, for agents,
who find what a single model is wrong about, with an observer, since one of these wrongs is that
noise makes models flat. `paper`: the paper's."""


def fit_config(preset: FitConfig | str = "recommended", /, **settings: Any) -> FitConfig:
    """Return a preset, or other settings, with some fields replaced.

    A number of compositions takes the place of epochs that come from the preset, a linear model
    that of an ensemble's members, and a stride that of its observer.
    """
    if isinstance(preset, str):
        check_word("preset", preset, PRESETS)
        preset = PRESETS[preset]
    if "compositions" in settings:
        settings = {"epochs": None, **settings}
    if settings.get("model") == "linear":
        settings = {"members": 1, **settings}
    if settings.get("stride", 1) != 1:
        settings = {"settle": 0, **settings}
    return replaced(preset, settings)
