"""The preset of a fit that the command line names: its values are the options' defaults."""

import sys
from dataclasses import replace
from typing import Literal

from farstep.fitting.config import PRESETS, FitConfig

FitPreset = Literal["recommended", "ensemble", "paper"]


def chosen_fit(option: str = "--preset", usual: FitPreset = "recommended") -> FitConfig:
    """Return the preset that the command line names; what else it names, the parser judges."""
    words = [word for argument in sys.argv[1:] for word in argument.split("=", 1)]
    words = [word.replace("_", "-") for word in words]
    named = words[words.index(option) + 1 :][:1] if option in words else []
    return PRESETS.get(named[0] if named else usual, PRESETS[usual])


def settled(config: FitConfig, preset: str) -> FitConfig:
    """Return the settings, without what others that were given take the place of.

    Those are the preset's epochs, by compositions, and its members, by a linear model.
    """
    base = PRESETS[preset]
    if config.compositions != base.compositions and config.epochs == base.epochs:
        config = replace(config, epochs=None)
    if config.model == "linear" and config.members == base.members:
        config = replace(config, members=1)
    return config
