"""Training an agent inside a model, with a look at the real system now and then."""

import dataclasses
import warnings
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve, described, now
from farstep.agents.files import Agent, AgentFiles, Progress, copied
from farstep.agents.networks import Layers
from farstep.agents.program import Tally, imagined_returns, initial_state, live
from farstep.errors import DataWarning
from farstep.fields import identity_of
from farstep.imagination.imagine import Imagination
from farstep.policy import Policy
from farstep.progress import Bar
from farstep.systems.collect import run_episodes
from farstep.systems.system import System
from farstep.tensorboard import TensorBoard

_AT_ONCE = 1000
"""Steps of the loop in one call, at most: between calls the bar moves and Ctrl-C is heard."""
_EPISODES = 8
"""Imagined, side by side, at each evaluation."""
_MUCH = 0.2
"""Share of steps at the bounds that is worth a warning."""
VERSIONS = ("farstep", "jax", "optax", "numpy")


@dataclasses.dataclass
class ImaginedTraining:
    """One agent, one imagination."""

    imagination: Imagination
    config: AgentConfig
    seed: int

    @cached_property
    def keys(self) -> tuple[jax.Array, jax.Array]:
        """Of the first agent and systems, and of everything that follows."""
        first, later = jax.random.split(jax.random.key(self.seed))
        return first, later

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train from where the checkpoint stands; what is finished is read."""
        identity = identity_of(**identity_parts(self.imagination, self.config, self.seed))
        files = AgentFiles(out, identity, force)
        finished = files.finished()
        if finished is not None:
            return finished
        files.check()
        state = initial_state(self.keys[0], self.imagination.world, self.config)
        at = files.read(state, state.learner.actor)
        at = at or Progress(state, copied(state.learner.actor), AgentCurve())
        start = int(at.state.steps)
        with (
            TensorBoard(out, start + 1) as board,
            Bar("agent", self.config.steps, "steps", start) as bar,
        ):
            while int(at.state.steps) < self.config.steps:
                at = self._interval(at, bar)
                board.add(at.curve.scalars, int(at.state.steps))
                files.write(at)
        say(at.curve)
        return files.store(self._agent(at, files.identity))

    def _interval(self, at: Progress, bar: Bar) -> Progress:
        """Train to the next evaluation, and evaluate."""
        began, config = now(), self.config
        state, tally, done = at.state, Tally.zero(), int(at.state.steps)
        end = min((done // config.eval_every + 1) * config.eval_every, config.steps)
        while done < end:
            learning = done >= config.learning_starts
            until = end if learning else min(end, config.learning_starts)
            count = min(-(-(until - done) // config.num_envs), _AT_ONCE)
            state, new = live(
                state, self.imagination.world, self.keys[1], jnp.array(count), config, learning
            )
            tally, done = tally.plus(new), int(state.steps)
            bar.advance(_status(described(tally), at.curve), by=count * config.num_envs)
        previous = at.curve.last
        row: dict[str, Any] = {
            "steps": done,
            "updates": (previous.get("updates") or 0) + int(tally.updates),
            **at.curve.time_since(began),
            "imagined_return": self._imagined_return(state.learner.actor),
            "real_return": self._real_return(state.learner.actor),
            **described(tally),
        }
        at.curve.add(row)
        best = at.best
        if at.curve.best in (None, len(at.curve.rows) - 1):
            best = copied(state.learner.actor)
        return Progress(state, best, at.curve)

    def _imagined_return(self, actor: Layers) -> float:
        keys = jax.random.split(jax.random.fold_in(self.keys[0], 1), _EPISODES)
        return float(imagined_returns(self.imagination.world, actor, keys).mean())

    def _real_return(self, actor: Layers) -> float | None:
        if not self.config.eval_episodes:
            return None
        policy = self._policy(actor, {})
        return mean_return(self.imagination.system, policy, self.config.eval_episodes, self.seed)

    def _agent(self, at: Progress, identity: str) -> Agent:
        record = {
            "identity": identity,
            "agent": dataclasses.asdict(self.config),
            "imagination": dataclasses.asdict(self.imagination.config),
            "model": self.imagination.model.record.get("identity"),
            "seed": self.seed,
            "versions": {package: version(package) for package in VERSIONS},
            "curve": at.curve.to_json(),
        }
        policy = self._policy(at.state.learner.actor, record)
        return Agent(policy, self._policy(at.best, record), at.curve)

    def _policy(self, actor: Layers, record: dict[str, Any]) -> Policy:
        return as_policy(actor, self.imagination.system, record)


def as_policy(actor: Layers, system: System, record: dict[str, Any]) -> Policy:
    """Return an actor's numbers as a policy for its system."""
    layers = [(np.asarray(layer.weight), np.asarray(layer.bias)) for layer in actor]
    return Policy(layers, system.signals, system.name, "relu", "squash", record)


def mean_return(system: System, policy: Policy, episodes: int, seed: int) -> float:
    """Return the mean return of some episodes on the real system, the same every time."""
    recorded = run_episodes(system, policy, episodes, seed)
    return float(np.mean([episode.total for episode in recorded]))


def say(curve: AgentCurve) -> None:
    """Warn of what makes the imagined return untrustworthy."""
    bounded, bad = curve.last.get("bounded") or 0.0, np.nansum(curve.column("not_finite"))
    if bounded > _MUCH:
        warnings.warn(
            f"the model left the bounds at {bounded:.0%} of the last steps and was put back; "
            "its agent may live off that. Widen the bounds (bounds=0.1), penalise "
            "uncertainty, shorten the rollout, or fit with a longer horizon.",
            DataWarning,
            stacklevel=2,
        )
    if bad:
        warnings.warn(
            f"{int(bad)} imagined episode(s) were cut off because the model gave states that "
            "are not finite; set bounds, or fit with a longer horizon.",
            DataWarning,
            stacklevel=2,
        )


def identity_parts(where: Imagination | System, config: AgentConfig, seed: int) -> dict[str, Any]:
    """Return what tells one training from another: settings, system, and the model's numbers."""
    system = where.system if isinstance(where, Imagination) else where
    parts = {
        "agent": dataclasses.asdict(config),
        "system": [system.name, system.env_id, repr(sorted(system.env_options.items()))],
        "seed": seed,
    }
    if isinstance(where, Imagination):
        parts["imagination"] = dataclasses.asdict(where.config)
        parts["world"] = tensors.digest(tensors.to_arrays(where.world))
    return parts


def _status(now: dict[str, float | None], curve: AgentCurve) -> str:
    imagined, real = now["training_return"], curve.last.get("real_return")
    shown = [
        f"{name} {value:.4g}"
        for name, value in (("imagined", imagined), ("real", real))
        if value is not None
    ]
    return "  ".join(shown)
