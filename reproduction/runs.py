"""Runs that figures share: a fitted model, the oracle, an offline agent, an iterated loop."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import farstep as fs
from farstep import AgentConfig, DataWarning, FitConfig, ModelEnvConfig
from farstep.errors import DivergedError
from farstep.evaluation.references import oracle
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared, rollout_errors
from farstep.models.model import MODEL_FILE
from farstep.settings import changed
from farstep.systems.registry import system_of
from farstep.training.config import PRESETS
from farstep.workflows.offline import train_and_run
from farstep.workflows.runs import Run, Store

PAPER = PRESETS["paper"]
_OF_AGENT = ("return", "best_return", "imagined_return", "curve")


@dataclass(frozen=True)
class ModelFit(Run):
    """A model fitted on a dataset, and its R² on the test episodes."""

    data: str
    config: FitConfig
    horizon: int = 100
    """Steps ahead at which R² ends."""

    kind: ClassVar[str] = "fit"

    @property
    def settings(self) -> dict[str, Any]:
        """The differences from the preset `paper`."""
        return {"data": self.data, "fit": changed(self.config, PAPER), "horizon": self.horizon}

    @property
    def reads(self) -> tuple[str, ...]:
        """The dataset."""
        return (self.data,)

    @property
    def usual_seconds(self) -> float:
        """For 36 episodes of a thousand steps."""
        config, cost = self.config, step_cost(self.config)
        if config.epochs is not None:
            passes = config.ensemble_size * config.epochs
            return 12 + passes * (0.6 + 0.5 * config.horizon * cost)
        return 10 + config.ensemble_size * 0.0018 * (config.model_steps or 0) * cost

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return the mean R² over observations after each model step; −∞ if the fit diverges."""
        del store
        train, validation, test = fs.load_dataset(self.data).split()
        try:
            model = fs.fit(train, validation, self.config, out=directory / "model")
            r2 = mean_r_squared(r_squared(model.dynamics, test, self.horizon))
        except DivergedError:
            r2 = np.full(self.horizon // self.config.fixed_horizon, -np.inf)
        return {"r2": _r2_text(r2)}


@dataclass(frozen=True)
class OracleRollout(Run):
    """R² of the real simulator, set to the measured observation, on a dataset's test episodes."""

    data: str
    horizon: int = 100

    kind: ClassVar[str] = "oracle"

    @property
    def reads(self) -> tuple[str, ...]:
        """The dataset."""
        return (self.data,)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return the mean R² over observations at each horizon; nothing without a simulator."""
        del directory, store
        test = fs.load_dataset(self.data).split().test
        simulator = oracle(test)
        if simulator is None:
            return {"r2": []}
        errors = rollout_errors(simulator.predictors, test, self.horizon)
        return {"r2": _r2_text(mean_r_squared(errors.r_squared[0, 0]))}


@dataclass(frozen=True)
class OfflineAgent(Run):
    """An agent trained in a fitted model, and its return on the real system."""

    fit: ModelFit
    agent: AgentConfig
    env: ModelEnvConfig

    kind: ClassVar[str] = "offline"

    @property
    def settings(self) -> dict[str, Any]:
        """The model's settings, and the agent's and environment's differences from defaults."""
        agent, env = changed(self.agent, AgentConfig()), changed(self.env, ModelEnvConfig())
        return {**self.fit.settings, "agent": agent, "env": env}

    @property
    def reads(self) -> tuple[str, ...]:
        """The dataset of the model."""
        return self.fit.reads

    @property
    def needs(self) -> tuple[Run, ...]:
        """The model."""
        return (self.fit,)

    @property
    def usual_seconds(self) -> float:
        """From the number of updates and the width of the networks."""
        return agent_seconds(self.agent)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return real and imagined returns and the learning curve; 0 if model or agent diverges.

        `best_return` is that of the policy with the best real evaluation, in the same episodes as
        `return`. Offline learning may not choose by it.
        """
        path = store.directory(self.fit) / "model"
        if (path / MODEL_FILE).exists():
            data, seed = fs.load_dataset(self.fit.data), self.fit.config.seed
            given = (fs.load_model(path), data, system_of(data), self.agent, self.env, seed)
            with suppress(DivergedError):
                found = train_and_run(*given, directory / "agent")
                return {name: found[name] for name in _OF_AGENT}
        return {**dict.fromkeys(_OF_AGENT), "return": 0.0, "curve": []}


@dataclass(frozen=True)
class IteratedLoop(Run):
    """Iterated batch RL with one seed."""

    system: str
    fit: FitConfig
    agent: AgentConfig
    env: ModelEnvConfig
    episodes: int
    seed: int
    warm_start: str

    kind: ClassVar[str] = "iterated"

    @property
    def settings(self) -> dict[str, Any]:
        """The differences from the presets and defaults."""
        return {
            "system": self.system,
            "fit": changed(self.fit, PAPER),
            "agent": changed(self.agent, AgentConfig()),
            "env": changed(self.env, ModelEnvConfig()),
            "episodes": self.episodes,
            "seed": self.seed,
            "warm_start": self.warm_start,
        }

    @property
    def usual_seconds(self) -> float:
        """For a model of a few episodes and an agent after each real episode."""
        fit = 8 + (self.fit.epochs or 0) * 0.15 * (1 + self.fit.horizon)
        return self.episodes * (fit + agent_seconds(self.agent))

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return real and imagined returns of all episodes.

        From the first episode on whose model or agent diverges the real return is 0.
        """
        del store
        rows: list[dict[str, Any]] = []
        try:
            rows = self._rows(directory, self.episodes)
        except DivergedError:
            with suppress(DivergedError):
                while True:  # finished episodes are read, not computed again
                    rows = self._rows(directory, len(rows) + 1)
            rows += [{"return": 0.0}] * (self.episodes - len(rows))
        return {
            "returns": [row["return"] for row in rows],
            "imagined_returns": [row.get("imagined_return") for row in rows],
        }

    def _rows(self, directory: Path, episodes: int) -> list[dict[str, Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            done = fs.iterate(
                self.system,
                fit=self.fit,
                agent=self.agent,
                env=self.env,
                episodes=episodes,
                seeds=1,
                seed=self.seed,
                warm_start=self.warm_start,  # pyright: ignore[reportArgumentType]
                out=directory / "loop",
                workers=1,
            )
        return done.rows[0]


def step_cost(config: FitConfig) -> float:
    """Return the cost of a model step with its share of the observer's steps.

    A model step with its gradient costs three times as much as an observer's step, which has none.
    """
    return 1 + config.observer_steps / (3 * config.horizon)


def agent_seconds(agent: AgentConfig) -> float:
    """Return about how long an agent is trained on one core."""
    updates = agent.steps / agent.num_envs * agent.gradient_steps
    return 20 + updates * (0.9 + 8e-3 * max(agent.net_arch) ** 1.25) / 1000


def _r2_text(values: np.ndarray) -> list[float | str]:
    """Return R² for JSON, which knows no infinity."""
    return [float(v) if np.isfinite(v) else str(v) for v in values]
