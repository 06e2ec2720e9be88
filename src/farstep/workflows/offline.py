"""offline: a dataset in; a model, an agent trained in it, and its return on the real system out."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.agents.learning_curve import AgentCurve
from farstep.agents.real_return import real_return
from farstep.agents.train_agent import train_agent
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.metrics import half_width
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.model_env.config import ModelEnvConfig
from farstep.model_env.model_env import ModelEnv, check_system
from farstep.models.model import Model
from farstep.runtime.processes import usable_cores
from farstep.settings import check_counts
from farstep.storage.files import locked
from farstep.storage.fingerprint import fingerprint_of, json_numbers
from farstep.storage.run_directory import RunDirectory
from farstep.systems.registry import get_system, system_of
from farstep.systems.system import System
from farstep.training.config import FitConfig
from farstep.training.fit import fit as fit_model
from farstep.workflows.presets import (
    AgentChoice,
    EnvChoice,
    FitChoice,
    chosen_agent,
    chosen_env,
    chosen_fit_for_agents,
    describe_agent,
    describe_fit,
    learns_reward,
)
from farstep.workflows.seeds import RUN_FILES, collected_notes, reward_notes, run_seeds

R2_STEPS = (1, 10, 25, 50, 100)
"""Steps ahead at which the models' R² is reported."""
_COLUMNS = {
    "return": "return",
    "imagined return": "imagined_return",
    "best return": "best_return",
    "fit, s": "fit_seconds",
    "agent, s": "agent_seconds",
}
_REAL = ("return", "best_return")
"""Columns that are left out where the system was not run."""
_EPISODES = 10
"""Real episodes of the final policy."""
_FINAL = 1_000_000
"""Added to the seed: other episodes than those of the evaluations, which chose the best policy."""


@dataclass(frozen=True)
class Offline:
    """The results of offline reinforcement learning, over seeds."""

    results: tuple[dict[str, Any], ...]
    """One for each seed: `return` and `best_return` on the real system, `imagined_return`, `r2` by
    steps ahead, `notes`, the agent's `curve`, `fit_seconds`, `agent_seconds`."""
    about: str
    """The dataset and the settings, in a sentence."""
    data_return: float = float("nan")
    """The mean return of the data's own actions: the mean reward times the steps of the system's
    episodes, or the mean return of recorded episodes if some of them terminated."""

    @property
    def curves(self) -> list[AgentCurve]:
        """The learning curve of each seed."""
        return [AgentCurve.from_json(result["curve"]) for result in self.results]

    @property
    def notes(self) -> list[str]:
        """All warnings, with their seed."""
        return [f"seed {r['seed']}: {note}" for r in self.results for note in r["notes"]]

    @property
    def _columns(self) -> dict[str, str]:
        """The names of numbers by their titles."""
        known = {n for result in self.results for n in result if result[n] is not None}
        return {title: n for title, n in _COLUMNS.items() if n in known or n not in _REAL}

    def row(self, result: dict[str, Any]) -> list[float]:
        """Return one seed's numbers, in the order of `means`."""
        numbers = [*(result[name] for name in self._columns.values()), *result["r2"].values()]
        return [float("nan") if value is None else float(value) for value in numbers]

    def means(self) -> dict[str, tuple[float, float]]:
        """Return the mean and half of Student's 90 % interval over seeds, by name."""
        names = [*self._columns, *(f"R²({j})" for j in self.results[0]["r2"])]
        values = np.array([self.row(result) for result in self.results])
        columns = zip(values.mean(axis=0), half_width(values), strict=True)
        return {
            name: (float(mean), float(half))
            for name, (mean, half) in zip(names, columns, strict=True)
        }


def offline(  # noqa: PLR0913  each is a choice of its own
    data: str | Path | Episodes,
    *,
    fit: FitChoice = "ensemble",
    agent: AgentChoice = "long",
    env: EnvChoice | None = None,
    system: str | None = None,
    out: str | Path = "offline",
    seeds: int = 3,
    seed: int = 0,
    workers: int = usable_cores(),
    force: bool = False,
) -> Offline:
    """Fit a model on a dataset, train an agent in it, and run the agent on the real system.

    `return` is the policy's mean return over ten real episodes. `best_return` is that of the best
    policy of the agent's real evaluations. Offline learning may not choose by these, so it is for
    comparison only; with `eval_episodes=0` there is none. A system that cannot be run
    (`env_id=None`) has imagined returns only.

    Args:
        data: The name of a shipped set, a path, or episodes.
        fit: How the model is fitted: a `FitConfig`, a preset's name, or settings such as
            `{"preset": "default", "horizon": 4}`.
        agent: How the agent is trained: an `AgentConfig`, a preset's name, or settings such as
            `{"steps": 100_000}`.
        env: The model environment: a `ModelEnvConfig`, a preset's name (`default`, `branched`,
            `ensemble` or `offline`), or settings such as `{"bounds": 0.1}`. The default is
            `offline`, or `branched` for a single model. With `reward="learned"`, or if the system's
            reward is not known, the model learns the reward.
        system: The real system's name; by default that of the data.
        out: A directory with a subdirectory for each seed, in which a killed run continues.
        seeds: How many seeds.
        seed: The first seed.
        workers: Processes of one thread each; 1 runs in this process.
        force: Start over, and remove what `out` holds of these seeds.
    """
    check_counts({"seeds": 1, "seed": 0}, {"seeds": seeds, "seed": seed})
    fit_config, agent_config = chosen_fit_for_agents(fit, "ensemble"), chosen_agent(agent, "long")
    env_config = chosen_env(env, fit_config.ensemble_size, "offline")
    episodes = data if isinstance(data, Episodes) else read_dataset(data)
    data_return = _check(episodes, _system(system, episodes), env_config)
    name = _stored(data, Path(out)) if isinstance(data, Episodes) else data
    first = OfflineSeed(str(name), fit_config, agent_config, env_config, seed, system)
    runs = [replace(first, seed=seed + number) for number in range(seeds)]
    results = run_seeds(runs, Path(out), workers, force)
    budget = f"{describe_fit(fit_config)}; {describe_agent(agent_config)}"
    done = Offline(tuple(results), f"{name}: {budget}; {seeds} seed(s)", data_return)
    for note in done.notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return done


@dataclass(frozen=True)
class OfflineSeed:
    """One seed of `offline`."""

    data: str
    fit: FitConfig
    agent: AgentConfig
    env: ModelEnvConfig
    seed: int
    system: str | None = None

    def directory(self, folder: Path, force: bool = False) -> RunDirectory:
        """Return its directory in `folder`."""
        data = read_dataset(self.data)
        system = _system(self.system, data)
        config = {
            "system": system.name,
            "env_kwargs": dict(system.env_kwargs),
            "seed": self.seed,
            "fit": replace(self.fit, seed=self.seed),
            "agent": self.agent,
            "env": self.env,
        }
        return RunDirectory(
            folder / f"seed-{self.seed}",
            "offline",
            config,
            {"data": data.fingerprint},
            outputs=[f"*/{name}" for name in RUN_FILES],
            force=force,
        )

    def run(self, folder: Path) -> dict[str, Any]:
        """Return the result; stages that are finished in `folder` are not computed again."""
        with self.directory(folder).open() as run:
            if (found := run.result()) is not None:
                return found
            run.save_config()
            assert run.path is not None, "it has one"
            data = read_dataset(self.data)
            system = _system(self.system, data)
            _check_made(system)
            parts = data.split()
            model = fit_model(
                parts.train,
                parts.validation,
                replace(self.fit, seed=self.seed),
                learn_reward=learns_reward(self.env, system),
                out=run.path / "model",
            )
            result = train_and_run(
                model, data, system, self.agent, self.env, self.seed, run.path / "agent"
            )
            return run.finish({**result, "seed": self.seed})


def train_and_run(
    model: Model,
    data: Episodes,
    system: System,
    agent: AgentConfig,
    env: ModelEnvConfig,
    seed: int = 0,
    out: Path | None = None,
) -> dict[str, Any]:
    """Train an agent in a model, run it on the real system, and return the numbers of both.

    Args:
        model: Fitted on the training part of the data.
        data: All of the data, which are split as in `offline`.
        system: The real system.
        agent: How the agent is trained.
        env: The model environment.
        seed: Of the agent and of the real episodes.
        out: The agent's directory.
    """
    parts = data.split()
    with collected_notes() as notes:
        trained = train_agent(ModelEnv(model, system, parts.train, env), agent, seed=seed, out=out)
    steps = [j for j in R2_STEPS if j <= parts.test.lengths.max()]
    r2 = mean_r_squared(r_squared(model.dynamics, parts.test, steps[-1]))
    evaluated = _EPISODES if trained.curve.best is not None else 0
    return {
        "return": real_return(system, trained.policy, _EPISODES, seed + _FINAL),
        "best_return": real_return(system, trained.best, evaluated, seed + _FINAL),
        "imagined_return": trained.curve.of_policy(agent.keep).get("imagined_return"),
        "r2": {str(j): json_numbers(r2[j - 1]) for j in steps},
        "notes": [*reward_notes(env, system), *notes],
        "fit_seconds": model.record["seconds"],
        "agent_seconds": trained.curve.last.get("seconds"),
        "curve": trained.curve.to_json(),
    }


def _stored(data: Episodes, folder: Path) -> Path:
    """Store episodes for the workers, in a file that is named after its content."""
    content = fingerprint_of(
        data=data.fingerprint, system=data.system, metadata=dict(data.metadata)
    )
    path = folder / f"offline-data-{content[:16]}.npz"
    with locked(folder):
        return path if path.exists() else write_dataset(data, path)


def _check_made(system: System) -> None:
    """Fail before a model is fitted if the system cannot be run afterwards."""
    if system.env_id is None:
        return
    try:
        system.make().close()
    except FarstepError as error:
        raise FarstepError(
            f"{str(error).rstrip('.')}. The return is measured on the real system; for a system "
            "that cannot be run, set env_id=None."
        ) from error


def _check(data: Episodes, system: System, config: ModelEnvConfig) -> float:
    """Fail before anything is fitted if something is wrong; return the data's mean return."""
    check_system(config, system, data)
    if learns_reward(config, system) and data.rewards is None:
        raise FarstepError(
            f"the reward of system '{system.name}' has to be learned, and the data have no "
            "rewards; record them, or give the system a reward function and leave out "
            "reward='learned'."
        )
    rewards = data.rewards if learns_reward(config, system) else system.rewards_of(data)
    assert rewards is not None, "checked before"
    if data.terminated.any():  # longer episodes would not have gone on
        return float(np.add.reduceat(rewards, data.step_offsets[:-1], dtype=float).mean())
    return float(rewards.mean(dtype=float)) * system.max_episode_steps


def _system(name: str | None, data: Episodes) -> System:
    return system_of(data) if name is None else get_system(name)
