"""Trainer: what all trainings share. They train, evaluate, keep the best, store, and continue."""

import abc
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from farstep.agents.agent import Agent
from farstep.agents.config import AgentConfig
from farstep.agents.learning_curve import AgentCurve, now
from farstep.agents.networks import Layers, Linear
from farstep.agents.real_return import real_return
from farstep.agents.sac import Learner
from farstep.model_env.model_env import ModelEnv
from farstep.runtime.machine import versions
from farstep.runtime.progress import Bar
from farstep.storage import tensors
from farstep.storage.event_files import TensorBoard
from farstep.storage.run_directory import RunDirectory
from farstep.systems.network_policy import NetworkPolicy
from farstep.systems.system import System

_ROWS = "state.replay.rows"


class Trainer(abc.ABC):
    """Trains one agent in one environment, with an evaluation every `eval_every` steps."""

    label = "agent"
    """Of the progress bar."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Whose versions the policy records, beside those that every policy does."""
    best: NetworkPolicy
    """The policy with the highest real return so far."""

    def __init__(self, env: ModelEnv | System, config: AgentConfig, seed: int) -> None:
        self.env, self.config, self.seed = env, config, seed
        self.system = env.system if isinstance(env, ModelEnv) else env
        self.curve = AgentCurve()

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Environment steps so far."""

    @property
    def learner_shapes(self) -> Learner | None:
        """A learner without numbers, to read a stored one into; None if none is stored."""
        return None

    @abc.abstractmethod
    def begin(self, run: RunDirectory) -> None:
        """Continue from the run's checkpoint, or begin."""

    @abc.abstractmethod
    def train_until(self, end: int, bar: Bar) -> dict[str, Any]:
        """Train up to this step; return columns of the learning curve."""

    @abc.abstractmethod
    def policy(self) -> NetworkPolicy:
        """Return the policy to evaluate, in arrays of its own."""

    def imagined_columns(self) -> dict[str, float]:
        """Return the policy's mean returns in the model, by column name."""
        return {}

    @abc.abstractmethod
    def save(self, run: RunDirectory) -> None:
        """Store a checkpoint."""

    def train(self, run: RunDirectory) -> Agent:
        """Train from the run's checkpoint to the end."""
        self.begin(run)
        with (
            TensorBoard(run.path, self.steps + 1) as board,
            Bar(self.label, self.config.steps, "steps", self.steps) as bar,
        ):
            while self.steps < self.config.steps:
                self.advance(run, bar)
                board.add(self.curve.scalars, self.steps)
                self.save(run)
        return self.agent(run)

    def advance(self, run: RunDirectory, bar: Bar) -> None:
        """Train to the next evaluation, and evaluate."""
        del run
        began = now()
        columns = self.train_until(self.config.next_evaluation(self.steps), bar)
        self.evaluate({**columns, **self.curve.time_since(began)})

    def evaluate(self, columns: dict[str, Any]) -> None:
        """Add a row to the learning curve, and keep the policy if it is the best."""
        policy = self.policy()
        returns: dict[str, float | None] = {**self.imagined_columns()}
        returns["real_return"] = real_return(
            self.system, policy, self.config.eval_episodes, self.seed
        )
        self.curve.add({"steps": self.steps, **columns, **returns})
        if self.curve.is_last(self.curve.best):
            self.best = policy

    def agent(self, run: RunDirectory) -> Agent:
        """Return the trained agent, with a record of the training in both policies."""
        record = {
            "fingerprint": run.fingerprint,
            **run.config,
            "data": run.data,
            "versions": versions() | {name: version(name) for name in self.packages},
            "curve": self.curve.to_json(),
        }
        last, best = (replace(policy, record=record) for policy in (self.policy(), self.best))
        return Agent(last, best, self.curve)


class SACTrainer(Trainer):
    """Trains the built-in SAC; a checkpoint holds all of its state."""

    state: Any
    """A pytree with fields `learner`, `replay` and `steps`."""
    kept: Learner | None = None
    """With `keep="best"`, the learner with the highest penalised imagined return so far."""

    @abc.abstractmethod
    def initial_state(self) -> Any:
        """Return the state before training."""

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return int(self.state.steps)

    def policy(self) -> NetworkPolicy:
        """Return the actor that is evaluated as a policy."""
        return self._policy_of(self.state.learner.unscaled)

    def begin(self, run: RunDirectory) -> None:
        """Continue from the run's checkpoint, or begin."""
        found = run.checkpoint()
        if found is None or run.path is None:
            self.state = self.initial_state()
            return
        arrays, header = found
        like = jax.eval_shape(self.initial_state)
        with tensors.understood(run.path, "checkpoint"):
            filled = arrays[_ROWS]
            arrays[_ROWS] = np.zeros(like.replay.rows.shape, filled.dtype)
            arrays[_ROWS][: len(filled)] = filled
            self.state = tensors.from_arrays(like, arrays, "state")
            self.best = self._policy_of(tensors.from_arrays(like.learner.actor, arrays, "best"))
            self.curve = AgentCurve.from_json(header["curve"])
            if any(name.startswith("kept") for name in arrays):
                self.kept = tensors.from_arrays(like.learner, arrays, "kept")

    def save(self, run: RunDirectory) -> None:
        """Replace the checkpoint; of the replay buffer only the filled part is stored."""
        if run.path is None:
            return
        arrays = tensors.to_arrays(self.state, "state")
        arrays[_ROWS] = arrays[_ROWS][: int(self.state.replay.size)]
        best = [Linear(*map(jnp.asarray, layer)) for layer in self.best.layers]
        arrays |= tensors.to_arrays(best, "best")
        if self.kept is not None:
            arrays |= tensors.to_arrays(self.kept, "kept")
        run.save_checkpoint(arrays, {"curve": self.curve.to_json()})

    def _policy_of(self, actor: Layers) -> NetworkPolicy:
        layers = [(np.array(layer.weight), np.array(layer.bias)) for layer in actor]
        return NetworkPolicy(layers, self.system.signals, self.system.name)
