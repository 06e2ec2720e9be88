"""How the named datasets are made."""

from collections.abc import Callable
from dataclasses import dataclass

from farstep.episodes import Episodes
from farstep.errors import FarstepError, did_you_mean
from farstep.systems.collect import collect


@dataclass(frozen=True)
class Recipe:
    """What makes a named dataset, from nothing."""

    about: str
    seed: int
    make: Callable[[int, int], Episodes]
    """(seed, workers) → episodes; the same whatever the number of workers."""


def _cartpole_random(seed: int, workers: int) -> Episodes:
    return collect("cartpole-swingup", "random", episodes=50, seed=seed, workers=workers)


RECIPES = {
    "cartpole-swingup/random": Recipe(
        about="50 episodes of uniformly random actions", seed=0, make=_cartpole_random
    ),
}


def make_dataset(name: str, workers: int = 1) -> Episodes:
    """Make a named dataset again by its recipe."""
    if name not in RECIPES:
        raise FarstepError(f"there is no recipe for '{name}'. {did_you_mean(name, RECIPES)}")
    recipe = RECIPES[name]
    return recipe.make(recipe.seed, workers)
