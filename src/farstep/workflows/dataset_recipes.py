"""Recipes of the shipped datasets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from farstep.agents.config import AgentConfig
from farstep.agents.train_agent import train_agent
from farstep.choices import WarmStart
from farstep.data.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model_env.config import ModelEnvConfig
from farstep.settings import check_choice
from farstep.storage.fingerprint import plain
from farstep.systems.collect import collect
from farstep.training.config import FitConfig
from farstep.workflows.iterate import iterate

EPISODES = 50
UNSTABLE = AgentConfig(steps=EPISODES * 1000, learning_rate=1e-3, eval_every=5_000, eval_episodes=0)
"""An online agent with three times the default learning rate: it learns fast, and regresses."""
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
"""24 000 updates of a small agent for each real episode. Independent of the presets, so that a
recipe does not change with them."""


@dataclass(frozen=True)
class LoopRecipe:
    """The settings of `iterate`. Models project angles onto the circle themselves."""

    fit: FitConfig
    env: ModelEnvConfig
    warm_start: WarmStart


LOOPS = {
    "cartpole-swingup": LoopRecipe(
        FitConfig(model_steps=20_000, angles=((1, 2),)),
        ModelEnvConfig(initial_states="any", max_episode_steps=300, project_angles=False),
        warm_start="agent",
    ),
    "cartpole-swingup-noisy": LoopRecipe(
        FitConfig(
            horizon=50,
            weights="uniform",
            observer_steps=20,
            model_steps=12_000,
            batch_size=128,
            learning_rate=3e-3,
            angles=((1, 2),),
        ),
        ModelEnvConfig(
            initial_states="any",
            max_episode_steps=300,
            bounds=0.1,
            out_of_bounds="terminate",
            observation_noise=0.8,
            project_angles=False,
        ),
        warm_start="both",
    ),
}
"""Sensor noise makes models too flat: in them a pole rises without being driven. The observer
removes it from the first state of each window. Agents see slightly more noise (0.8) than there is
(0.7). Each fit is short, so models start from the one before."""


@dataclass(frozen=True)
class Recipe:
    """How a shipped dataset is made from nothing."""

    about: str
    seed: int
    settings: Mapping[str, Any]
    """The settings of models, agents and model environments, for the record."""
    make: Callable[[int, int, Path], Episodes]
    """(seed, workers, directory of a killed recipe) → episodes, the same for any `workers`."""


def make_dataset(name: str, work: Path, workers: int = 1) -> Episodes:
    """Make a shipped dataset again by its recipe; a killed recipe continues in `work`."""
    check_choice("recipe", name, RECIPES)
    recipe = RECIPES[name]
    return recipe.make(recipe.seed, workers, work)


def _random(seed: int, workers: int, work: Path) -> Episodes:
    del work
    made = collect("cartpole-swingup", "random", episodes=EPISODES, seed=seed, workers=workers)
    if len(made) < EPISODES:
        raise FarstepError(f"only {len(made)} of {EPISODES} episodes could be recorded.")
    return made


def _unstable(seed: int, workers: int, work: Path) -> Episodes:
    del workers
    episodes = train_agent("cartpole-swingup", UNSTABLE, seed=seed, out=work).episodes
    assert episodes is not None, "agents on real systems record them"
    return episodes


def _iterated(system: str, seed: int, workers: int, work: Path) -> Episodes:
    del workers
    loop = LOOPS[system]
    done = iterate(
        system,
        fit=loop.fit,
        agent=AGENT,
        env=loop.env,
        warm_start=loop.warm_start,
        episodes=EPISODES - 1,
        seeds=1,
        seed=seed,
        out=work,
        workers=1,
        show=True,
    )
    metadata = {"iterated": {"about": done.about, "seed": seed}}
    return replace(done.episodes(seed), metadata=metadata)


RECIPES = {
    "cartpole-swingup/random": Recipe(
        f"{EPISODES} episodes of uniformly random actions", 0, {}, _random
    ),
    "cartpole-swingup/medium": Recipe(
        "50 episodes of an unstable SAC agent while it learns on the real system",
        0,
        {"agent": plain(UNSTABLE)},
        _unstable,
    ),
    "cartpole-swingup/expert": Recipe(
        "all 50 episodes of iterated model-based reinforcement learning",
        0,
        {**plain(LOOPS["cartpole-swingup"]), "agent": plain(AGENT)},
        partial(_iterated, "cartpole-swingup"),
    ),
    "cartpole-swingup/expert_noisy": Recipe(
        "all 50 episodes of iterated model-based reinforcement learning with noisy sensors",
        0,
        {**plain(LOOPS["cartpole-swingup-noisy"]), "agent": plain(AGENT)},
        partial(_iterated, "cartpole-swingup-noisy"),
    ),
}
