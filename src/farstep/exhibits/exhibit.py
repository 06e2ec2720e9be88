"""What a figure of the paper is: runs, and a drawing of their scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from farstep.fitting.config import FitConfig, fit_config
from farstep.report.charts import Chart
from farstep.scoring.score import Score

Scores: TypeAlias = Mapping[str, Sequence[Score]]
"""By dataset; the oracle comes last."""


@dataclass(frozen=True)
class Preset:
    """How much is computed."""

    name: str
    epochs: int
    """At most, for each fit."""
    seeds: tuple[int, ...]
    datasets: int | None = None
    """Use only this many of an exhibit's datasets."""


PRESETS = {
    "quick": Preset("quick", epochs=4, seeds=(0, 1), datasets=1),
    "paper": Preset("paper", epochs=50, seeds=(0, 1, 2)),
}
"""The paper does not say how many epochs it trained for; 50 with early stopping are enough for
the validation loss to level off."""


@dataclass(frozen=True)
class Exhibit:
    """One figure of the paper."""

    name: str
    about: str
    datasets: tuple[str, ...]
    """Those of the paper, by name; the ones that exist are used."""
    cases: Mapping[str, FitConfig]
    """What is fitted, by the name of its line; epochs and seeds come from the preset."""
    draw: Callable[[Scores], Sequence[Chart]]
    horizon: int = 100
    """Steps ahead that the models are scored to."""


def static(horizon: int = 1, weights: str = "uniform", stride: int = 1) -> FitConfig:
    """Return the paper's settings for its R² figures: the next state as target, mse."""
    return fit_config("paper", horizon=horizon, weights=weights, stride=stride)


def with_preset(config: FitConfig, preset: Preset, seed: int) -> FitConfig:
    """Return the settings of one run."""
    return replace(config, epochs=preset.epochs, seed=seed)
