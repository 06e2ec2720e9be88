"""The machine and the packages that results are computed with."""

import importlib.util
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from farstep.errors import FarstepError
from farstep.runtime.processes import usable_cores

_PACKAGES = ("farstep", "jax", "equinox", "optax", "numpy", "gymnasium", "mujoco", "dm_control")


class Extra(NamedTuple):
    """An optional dependency."""

    module: str
    name: str
    purpose: str


EXTRAS = {
    "sb3": Extra("stable_baselines3", "Stable-Baselines3", "agents of Stable-Baselines3"),
    "ray": Extra("ray", "Ray", "sweeps on a cluster"),
    "tune": Extra("optuna", "Optuna", "hyperparameter search"),
}


@cache
def machine() -> str:
    """Describe the processor, the cores and Python."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    cores = usable_cores()
    return f"{model}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Farstep and of the packages that its results depend on."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def require(extra: str) -> None:
    """Fail if an extra is not installed."""
    if importlib.util.find_spec(EXTRAS[extra].module) is None:
        raise FarstepError(
            f"{EXTRAS[extra].name} is not installed: pip install 'farstep[{extra}]' installs it."
        )
