"""The settings of a fit as users give them, in Python or as text."""

from collections.abc import Mapping
from typing import Any

from farstep.errors import FarstepError
from farstep.fitting.config import FitConfig, fit_config
from farstep.systems.registry import import_attribute
from farstep.weights import Profile, profile


def fit_settings(config: FitConfig | str, settings: Mapping[str, Any]) -> tuple[FitConfig, Profile]:
    """Return a preset or configuration with some fields replaced, checked, and its weights.

    Weights that are given by name may be whatever `profile` takes.
    """
    if "preset" in settings:
        raise FarstepError("the name of a preset comes by itself: fit(data, config='paper').")
    given = settings.get("weights")
    base = fit_config(config)
    weights = profile(base.weights if given is None else given, _imported)
    chosen = fit_config(base, **{**settings, "weights": weights.text})
    chosen.check()
    return chosen, weights


def _imported(reference: str) -> Any:
    return import_attribute(reference, from_here=True)
