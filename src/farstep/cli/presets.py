"""Presets that the command line names; the values of a fit's are the options' defaults."""

import dataclasses
import sys
from typing import Literal

from farstep.fields import changed
from farstep.fitting.config import PRESETS, FitConfig, fit_config

FitPreset = Literal["recommended", "ensemble", "brief", "paper"]
AgentPreset = Literal["paper", "fast", "thorough", "brief"]


def chosen_fit(option: str = "--preset", usual: FitPreset = "recommended") -> FitConfig:
    """Return the preset that the command line names; what else it names, the parser judges."""
    words = _words()
    named = words[words.index(option) + 1 :][:1] if option in words else []
    return PRESETS.get(named[0] if named else usual, PRESETS[usual])


def reconciled(config: FitConfig, preset: str) -> FitConfig:
    """Return the settings, without what those that are given take the place of.

    Given is what stands in the command, though it be as in the preset, and what differs from it.
    """
    words, values = _words(), dataclasses.asdict(config)
    named = {n: v for n, v in values.items() if f"--{n.replace('_', '-')}" in words}
    return fit_config(preset, **{**changed(config, PRESETS[preset]), **named})


def _words() -> list[str]:
    """Return the words of the command line, options as the help shows them."""
    words = [word for argument in sys.argv[1:] for word in argument.split("=", 1)]
    return [word.replace("_", "-") for word in words]
