"""The other packages: what the extras bring, and the versions of what there is."""

import importlib.util
from collections.abc import Iterable
from importlib.metadata import version
from typing import NamedTuple

from farstep.errors import FarstepError


class Extra(NamedTuple):
    """What an extra brings."""

    module: str
    name: str
    purpose: str


EXTRAS = {
    "sb3": Extra("stable_baselines3", "Stable-Baselines3", "agents of Stable-Baselines3"),
    "ray": Extra("ray", "Ray", "runs on a cluster"),
    "tune": Extra("optuna", "Optuna", "searches for settings"),
}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each, as results keep them."""
    return {package: version(package) for package in packages}


def require(extra: str) -> None:
    """Fail if what an extra brings is not there."""
    if importlib.util.find_spec(EXTRAS[extra].module) is None:
        raise FarstepError(
            f"{EXTRAS[extra].name} is not installed; it is the extra {extra}, and farstep doctor "
            "says how to install it."
        )
