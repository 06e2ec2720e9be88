"""How the named datasets are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from farstep.agents.config import AgentConfig
from farstep.agents.train import train
from farstep.choices import Warm
from farstep.episodes import Episodes
from farstep.errors import FarstepError, did_you_mean
from farstep.fields import changed
from farstep.fitting.config import FitConfig
from farstep.imagination.config import ImagineConfig
from farstep.loops.iterate import iterate
from farstep.loops.shared import told
from farstep.systems.collect import collect

EPISODES = 50
UNSTABLE = AgentConfig(steps=EPISODES * 1000, learning_rate=1e-3, eval_every=5_000, eval_episodes=0)
"""An online agent with three times the usual learning rate: it learns fast, and falls back."""
AGENT = AgentConfig(
    steps=140_000,
    num_envs=10,
    gradient_steps=2,
    learning_starts=20_000,
    learning_rate=1e-3,
    gamma=0.995,
    net_arch=(64, 64),
    keep="best",
    eval_every=5_000,
)
"""24 000 updates of a small agent after each real episode; the policy that the model thinks best
runs the next one. Written out, since a recipe may not move with a preset."""


@dataclass(frozen=True)
class Loop:
    """Iterated batch RL: what is fitted, and where the agent lives. Models keep to the circle."""

    fit: FitConfig
    imagination: ImagineConfig
    warm: Warm


LOOPS = {
    "cartpole-swingup": Loop(
        FitConfig(compositions=20_000, angles=((1, 2),)),
        ImagineConfig(starts="any", rollout=300, circles=False),
        warm="agent",
    ),
    "cartpole-swingup-noisy": Loop(
        FitConfig(
            horizon=50,
            weights="uniform",
            settle=20,
            compositions=12_000,
            batch=128,
            learning_rate=3e-3,
            angles=((1, 2),),
        ),
        ImagineConfig(
            starts="any",
            rollout=300,
            bounds=0.1,
            beyond="end",
            noise=0.8,
            circles=False,
        ),
        warm="both",
    ),
}
"""Noise of the sensors makes models too flat, until a pole stands up by itself in them; an observer
(`settle`) keeps it out of where windows start. Agents see a little more noise than there is (0.7).
Models go on from epoch to epoch: so short a fit alone would not do."""


@dataclass(frozen=True)
class Recipe:
    """What makes a named dataset, from nothing."""

    about: str
    seed: int
    settings: Mapping[str, Any]
    """What differs from the defaults of agents and from the paper's of models, for the record."""
    make: Callable[[int, int, Path], Episodes]
    """(seed, workers, a folder to go on in) → episodes; the same whatever the number of workers."""


def _random(seed: int, workers: int, work: Path) -> Episodes:
    del work
    made = collect("cartpole-swingup", "random", episodes=EPISODES, seed=seed, workers=workers)
    if len(made) < EPISODES:
        raise FarstepError(f"only {len(made)} of {EPISODES} episodes could be recorded.")
    return made


def _unstable(seed: int, workers: int, work: Path) -> Episodes:
    del workers
    episodes = train("cartpole-swingup", UNSTABLE, seed=seed, out=work).episodes
    assert episodes is not None
    return episodes


def _iterated(system: str) -> Callable[[int, int, Path], Episodes]:
    def make(seed: int, workers: int, work: Path) -> Episodes:
        del workers
        loop = LOOPS[system]
        done = iterate(
            system,
            replace(loop.fit, seed=seed),
            agent=AGENT,
            imagination=loop.imagination,
            warm=loop.warm,
            out=work,
            epochs=EPISODES - 1,
            seeds=1,
            workers=1,
            show=True,
        )
        return replace(
            done.episodes(seed), metadata={"iterated": {"about": done.about, "seed": seed}}
        )

    return make


def _loop_settings(system: str) -> dict[str, Any]:
    loop = LOOPS[system]
    return {"warm": loop.warm, **told(loop.fit, AGENT, loop.imagination)}


RECIPES = {
    "cartpole-swingup/random": Recipe(
        f"{EPISODES} episodes of uniformly random actions", 0, {}, _random
    ),
    "cartpole-swingup/medium": Recipe(
        "50 episodes of an unstable SAC agent while it learns on the real system",
        0,
        {"agent": changed(UNSTABLE, AgentConfig())},
        _unstable,
    ),
    "cartpole-swingup/expert": Recipe(
        "the whole trace of iterated batch RL, 50 episodes",
        0,
        _loop_settings("cartpole-swingup"),
        _iterated("cartpole-swingup"),
    ),
    "cartpole-swingup/expert_noisy": Recipe(
        "the whole trace of iterated batch RL with noisy sensors, 50 episodes",
        0,
        _loop_settings("cartpole-swingup-noisy"),
        _iterated("cartpole-swingup-noisy"),
    ),
}


def make_dataset(name: str, work: Path, workers: int = 1) -> Episodes:
    """Make a named dataset again by its recipe; `work` holds what a killed making goes on from."""
    if name not in RECIPES:
        raise FarstepError(f"there is no recipe for '{name}'. {did_you_mean(name, RECIPES)}")
    recipe = RECIPES[name]
    return recipe.make(recipe.seed, workers, work)
