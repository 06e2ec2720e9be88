"""The same agent on a real system: the model-free baseline, with its whole trace recorded."""

import dataclasses
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve, now
from farstep.agents.files import Agent, AgentFiles, Progress, copied
from farstep.agents.imagined import VERSIONS, as_policy, identity_parts, mean_return
from farstep.agents.losses import Transitions
from farstep.agents.networks import Layers
from farstep.agents.program import unscaled
from farstep.agents.replay import Replay, empty_replay, remember
from farstep.agents.sac import Learner, Losses, act, create_learner, learn
from farstep.datasets import npz
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.fields import identity_of
from farstep.files import publish
from farstep.progress import Bar
from farstep.signals import Signals
from farstep.systems.collect import record_episode
from farstep.systems.system import System
from farstep.tensorboard import TensorBoard

TRACE_FILE = "episodes.npz"
"""Every episode of the training, as a dataset."""


class OnlineState(NamedTuple):
    """What one real step hands to the next."""

    learner: Learner
    replay: Replay
    steps: Int[Array, ""]


@partial(jax.jit, static_argnames=("config", "learning"), donate_argnames="state")
def learn_from(
    state: OnlineState, new: Transitions, key: PRNGKeyArray, config: AgentConfig, learning: bool
) -> tuple[OnlineState, Losses]:
    """Remember one transition, and update unless it is the warm-up."""
    replay, learner = remember(state.replay, new), state.learner
    losses = Losses(*jnp.zeros(4))
    if learning:
        learner, losses = learn(learner, replay, jax.random.fold_in(key, state.steps), config)
    return OnlineState(learner, replay, state.steps + 1), losses


@partial(jax.jit, static_argnames=("signals", "learning"))
def choose(
    actor: Layers,
    state: Float[Array, " d"],
    key: PRNGKeyArray,
    number: Int[Array, ""],
    signals: Signals,
    learning: bool,
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return the action of step `number`, scaled to [−1, 1] and in the system's units."""
    key = jax.random.fold_in(key, number)
    if learning:
        action = act(actor, state[None], key)
    else:
        action = jax.random.uniform(key, (1, signals.num_actions), minval=-1.0, maxval=1.0)
    return action[0], unscaled(action, signals)[0]


class OnlineTraining:
    """One agent on one real system."""

    def __init__(self, system: System, config: AgentConfig, seed: int) -> None:
        if config.num_envs != 1:
            raise FarstepError("a real system is one; leave num_envs at 1.")
        bounds = [*system.signals.action_low, *system.signals.action_high]
        if not np.isfinite(bounds).all():
            raise FarstepError(
                f"an agent needs bounds on every action; system '{system.name}' has none."
            )
        self.system, self.config, self.seed = system, config, seed
        keys = jax.random.split(jax.random.key(seed), 3)
        self._first_key, self._act_key, self._learn_key = keys
        self._scaled = jnp.zeros(system.signals.num_actions)
        self._losses: list[Losses] = []

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train from the last checkpoint; what is finished is read."""
        system = self.system
        identity = identity_of(**identity_parts(system, self.config, self.seed))
        files = AgentFiles(out, identity, force)
        finished = files.finished()
        if finished is not None and out is not None:
            return dataclasses.replace(finished, episodes=npz.read(out / TRACE_FILE))
        files.check()
        d, k = system.signals.num_states, system.signals.num_actions
        capacity = min(self.config.buffer_size, self.config.steps + system.episode_steps)
        start = OnlineState(
            create_learner(self._first_key, d, k, self.config),
            empty_replay(capacity, d, k, 1),
            jnp.zeros((), jnp.int32),
        )
        at = files.read(start, start.learner.actor)
        self._trace: list[Episode] = []
        if at is not None and out is not None:
            rows = int(at.curve.last["episodes"] or 0)
            self._trace = list(npz.read(out / TRACE_FILE))[:rows]
        at = at or Progress(start, copied(start.learner.actor), AgentCurve())
        self._state = at.state
        done = int(self._state.steps)
        with (
            TensorBoard(out, done + 1) as board,
            Bar(system.name, self.config.steps, "steps", done) as bar,
        ):
            while int(self._state.steps) < self.config.steps:
                at = self._interval(at, bar)
                board.add(at.curve.scalars, int(self._state.steps))
                if out is not None:
                    data = npz.encode(self._episodes())
                    publish(out / TRACE_FILE, {"": data}, force=True)
                files.write(at)
        record = {
            "identity": identity,
            "agent": dataclasses.asdict(self.config),
            "seed": self.seed,
            "versions": {package: version(package) for package in VERSIONS},
            "curve": at.curve.to_json(),
        }
        policy = as_policy(self._state.learner.actor, system, record)
        best = as_policy(at.best, system, record)
        return files.store(Agent(policy, best, at.curve, self._episodes()))

    def _interval(self, at: Progress, bar: Bar) -> Progress:
        """Run whole episodes until the next evaluation is due, and evaluate."""
        began, config = now(), self.config
        start = int(self._state.steps)
        due = min((start // config.eval_every + 1) * config.eval_every, config.steps)
        first = len(self._trace)
        while int(self._state.steps) < due:
            before = int(self._state.steps)
            self._trace.append(self._episode(len(self._trace)))
            bar.advance(f"return {self._trace[-1].total:.4g}", by=int(self._state.steps) - before)
        returns = [episode.total for episode in self._trace[first:]]
        losses = jax.device_get(self._losses)
        self._losses = []
        row: dict[str, Any] = {
            "steps": int(self._state.steps),
            "episodes": len(self._trace),
            "updates": max(int(self._state.steps) - config.learning_starts, 0)
            * config.gradient_steps,
            **at.curve.time_since(began),
            "training_return": float(np.mean(returns)),
            "real_return": self._evaluated(),
            "critic_loss": _mean([loss.critic for loss in losses]),
            "actor_loss": _mean([loss.actor for loss in losses]),
            "temperature": _mean([loss.temperature for loss in losses]),
        }
        at.curve.add(row)
        best = at.best
        if at.curve.best in (None, len(at.curve.rows) - 1):
            best = copied(self._state.learner.actor)
        return Progress(self._state, best, at.curve)

    def _evaluated(self) -> float | None:
        if not self.config.eval_episodes:
            return None
        policy = as_policy(self._state.learner.actor, self.system, {})
        return mean_return(self.system, policy, self.config.eval_episodes, self.seed)

    def _episode(self, number: int) -> Episode:
        """Run one episode while learning; each has a seed and an environment of its own."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        env = self.system.make()
        try:
            rng = np.random.default_rng(seed)
            return record_episode(env, self._act, seed, rng, watch=self._learn)
        finally:
            env.close()

    def _act(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        del rng
        steps = self._state.steps
        self._scaled, action = choose(
            self._state.learner.actor,
            jnp.asarray(state, jnp.float32),
            self._act_key,
            steps,
            self.system.signals,
            int(steps) >= self.config.learning_starts,
        )
        return self.system.signals.clip(np.asarray(action))

    def _learn(
        self,
        state: np.ndarray,
        action: np.ndarray,
        reward: float,
        next_state: np.ndarray,
        terminated: bool,
    ) -> None:
        del action  # in the system's units; the buffer has it scaled
        new = Transitions(
            states=jnp.asarray(state, jnp.float32)[None],
            actions=self._scaled[None],
            rewards=jnp.asarray([reward], jnp.float32),
            next_states=jnp.asarray(next_state, jnp.float32)[None],
            terminated=jnp.asarray([terminated], jnp.float32),
        )
        learning = int(self._state.steps) >= self.config.learning_starts
        self._state, losses = learn_from(self._state, new, self._learn_key, self.config, learning)
        if learning:
            self._losses.append(losses)

    def _episodes(self) -> Episodes:
        recipe = {
            "env_id": self.system.env_id,
            "env_options": dict(self.system.env_options),
            "policy": "sac",
            "agent": dataclasses.asdict(self.config),
            "seed": self.seed,
        }
        return Episodes.from_list(
            self._trace, self.system.signals, self.system.name, {"trained": recipe}
        )


def _mean(values: list[Any]) -> float | None:
    return float(np.mean(values)) if values else None
