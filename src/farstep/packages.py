"""The other packages: which there are, and in which version."""

import importlib.util
from collections.abc import Iterable
from importlib.metadata import version

from farstep.errors import FarstepError

_EXTRAS = {
    "stable_baselines3": ("Stable-Baselines3", "sb3"),
    "optuna": ("Optuna", "tune"),
    "ray": ("Ray", "ray"),
}
"""By what is imported: its name, and the extra that brings it."""


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each, as results keep them."""
    return {package: version(package) for package in packages}


def require(module: str) -> None:
    """Fail if what an extra brings is not there."""
    if importlib.util.find_spec(module) is None:
        name, extra = _EXTRAS[module]
        raise FarstepError(
            f"{name} is not installed; it is the extra {extra}, and farstep doctor says how to "
            "install it."
        )
