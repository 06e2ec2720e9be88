"""The same agent on a real system: the model-free baseline, with its whole trace recorded."""

import dataclasses
import json
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.config import AgentConfig
from farstep.agents.curve import DIVERGED, AgentCurve, check_finite, described_losses, now
from farstep.agents.files import Agent, AgentFiles, Progress, copied
from farstep.agents.losses import Transitions
from farstep.agents.program import unscaled
from farstep.agents.replay import Replay, empty_replay, remember
from farstep.agents.sac import Learner, Losses, act, create_learner, learn
from farstep.agents.training import as_policy, check_real, identity, mean_return, record
from farstep.datasets import npz
from farstep.datasets.reading import read
from farstep.episodes import Episode, Episodes
from farstep.errors import DivergedError, FarstepError
from farstep.files import check_output, publish
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
    losses = Losses.zero()
    if learning:
        learner, losses = learn(learner, replay, jax.random.fold_in(key, state.steps), config)
    return OnlineState(learner, replay, state.steps + 1), losses


@partial(jax.jit, static_argnames=("signals", "learning"))
def choose(
    learner: Learner,
    state: Float[Array, " d"],
    key: PRNGKeyArray,
    number: Int[Array, ""],
    signals: Signals,
    learning: bool,
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return the action of step `number`, scaled to [−1, 1] and in the system's units."""
    key = jax.random.fold_in(key, number)
    if learning:
        action = act(learner, state[None], key)
    else:
        action = jax.random.uniform(key, (1, signals.num_actions), minval=-1.0, maxval=1.0)
    return action[0], unscaled(action, signals)[0]


class OnlineTraining:
    """One agent on one real system."""

    def __init__(self, system: System, config: AgentConfig, seed: int) -> None:
        check_real(system, config)
        self.system, self.config, self.seed = system, config, seed
        keys = jax.random.split(jax.random.key(seed), 3)
        self._first_key, self._act_key, self._learn_key = keys
        self._scaled = jnp.zeros(system.signals.num_actions)
        self._losses, self._updates = Losses.zero(), 0

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train from the last checkpoint; what is finished is read."""
        system = self.system
        files = AgentFiles(out, identity(system, self.config, self.seed), force)
        finished = files.finished()
        if finished is not None and out is not None:
            return dataclasses.replace(finished, episodes=read(out / TRACE_FILE))
        files.check()
        at = files.read(jax.eval_shape(self._first))
        self._trace = [] if out is None else self._recorded(out / TRACE_FILE, at, force)
        begun = at is not None
        at = at or self._new()
        self._state = at.state
        done = int(self._state.steps)
        with (
            TensorBoard(out, done + 1) as board,
            Bar(system.name, self.config.steps, "steps", done) as bar,
        ):
            while int(self._state.steps) < self.config.steps:
                try:
                    at = self._interval(at, bar)
                except FarstepError as error:
                    raise type(error)(f"{error}{self._keep_failed(out, begun)}") from error
                board.add(at.curve.scalars, int(self._state.steps))
                if not begun:
                    files.forget()
                if out is not None:
                    self._store_trace(out / TRACE_FILE)
                files.write(at)
                begun = True
        kept = record(files.identity, system, self.config, self.seed, at.curve)
        last, best = (
            as_policy(actor, system, kept) for actor in (self._state.learner.policy, at.best)
        )
        return files.store(Agent(last, best, at.curve, self._episodes()))

    def _recorded(self, path: Path, at: Progress | None, force: bool) -> list[Episode]:
        """Return the episodes up to a checkpoint; those of another training stay as they are."""
        if at is None:  # a kill may have left the trace alone
            with suppress(FarstepError):
                force = force or self._is_mine(read(path))
            check_output(path, force)
            return []
        stored = read(path)
        if not self._is_mine(stored):
            raise FarstepError(
                f"{path} is not of the unfinished agent beside it; pass --force (force=True) to "
                "start over."
            )
        return list(stored)[: int(at.curve.last["episodes"] or 0)]

    def _is_mine(self, stored: Episodes) -> bool:
        """Return whether these were recorded by a training with the same settings."""
        told, ours = stored.metadata.get("trained"), json.loads(json.dumps(self._recipe))
        if not isinstance(told, dict) or stored.system != self.system.name:
            return False
        agent = {**dataclasses.asdict(AgentConfig()), **told.get("agent", {})}
        return {**told, "agent": json.loads(json.dumps(agent))} == ours

    def _keep_failed(self, out: Path | None, begun: bool) -> str:
        """Store what was recorded before a failure; return where it is, and how to go on."""
        if out is None or not self._trace:
            return ""
        path = out / TRACE_FILE
        if not begun:  # without a checkpoint nothing goes on from it
            names = (out / f"episodes-failed-{number}.npz" for number in count(1))
            path = next(name for name in names if not name.exists())
        self._store_trace(path)
        after = "to go on from the last checkpoint" if begun else "from the beginning"
        return (
            f" {len(self._trace)} episode(s) are in {path}; mend what failed and start again "
            f"{after}."
        )

    def _store_trace(self, path: Path) -> None:
        publish(path, {"": npz.encode(self._episodes())}, force=True)

    def _first(self) -> OnlineState:
        signals, config = self.system.signals, self.config
        d, k = signals.num_states, signals.num_actions
        capacity = min(config.buffer_size, config.steps + self.system.episode_steps)
        return OnlineState(
            create_learner(self._first_key, d, k, config),
            empty_replay(capacity, (d, k), 1),
            jnp.zeros((), jnp.int32),
        )

    def _new(self) -> Progress:
        state = self._first()
        return Progress(state, copied(state.learner.policy), AgentCurve())

    def _interval(self, at: Progress, bar: Bar) -> Progress:
        """Run whole episodes until the next evaluation is due, and evaluate."""
        began, config = now(), self.config
        start = int(self._state.steps)
        due = config.next_evaluation(start)
        first = len(self._trace)
        while int(self._state.steps) < due:
            before = int(self._state.steps)
            self._trace.append(self._episode(len(self._trace)))
            bar.advance(f"return {self._trace[-1].total:.4g}", by=int(self._state.steps) - before)
        returns = [episode.total for episode in self._trace[first:]]
        check_finite(self._losses)
        losses = described_losses(self._losses, self._updates)
        self._losses, self._updates = Losses.zero(), 0
        spent = at.curve.time_since(began)
        row: dict[str, Any] = {
            "steps": int(self._state.steps),
            "episodes": len(self._trace),
            "updates": max(int(self._state.steps) - config.learning_starts, 0)
            * config.gradient_steps,
            **spent,
            "training_return": float(np.mean(returns)),
            "real_return": mean_return(
                self.system,
                as_policy(self._state.learner.policy, self.system, {}),
                config.eval_episodes,
                self.seed,
            ),
            **losses,
        }
        at.curve.add(row)
        best = copied(self._state.learner.policy) if at.curve.leads(at.curve.best) else at.best
        return Progress(self._state, best, at.curve)

    def _episode(self, number: int) -> Episode:
        """Run one episode while learning; each has a seed and an environment of its own."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        env, trouble = self.system.make(), []
        try:
            rng = np.random.default_rng(seed)
            episode = record_episode(env, self._act, seed, rng, self._learn, trouble.append)
        finally:
            env.close()
        if trouble and not np.isfinite(self._scaled).all():  # what is not a number is no action
            raise DivergedError(DIVERGED)
        if trouble:
            if len(episode.actions):
                self._trace.append(episode)
            raise FarstepError(f"in episode {number}, {trouble[0].rstrip('.')}.")
        return episode

    def _act(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        del rng
        steps = self._state.steps
        self._scaled, action = choose(
            self._state.learner,
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
        before, after = (jnp.asarray(one, jnp.float32)[None] for one in (state, next_state))
        new = Transitions(
            states=before,
            actions=self._scaled[None],
            rewards=jnp.asarray([reward], jnp.float32),
            next_states=after,
            terminated=jnp.asarray([terminated], jnp.float32),
            seen=before,
            next_seen=after,
        )
        learning = int(self._state.steps) >= self.config.learning_starts
        self._state, losses = learn_from(self._state, new, self._learn_key, self.config, learning)
        if learning:
            self._losses = jax.tree.map(jnp.add, self._losses, losses)
            self._updates += self.config.gradient_steps

    def _episodes(self) -> Episodes:
        metadata = {"trained": self._recipe}
        return Episodes.from_list(self._trace, self.system.signals, self.system.name, metadata)

    @property
    def _recipe(self) -> dict[str, Any]:
        """What tells the trace's training from another's."""
        return {
            "env_id": self.system.env_id,
            "env_options": dict(self.system.env_options),
            "policy": "sac",
            "agent": dataclasses.asdict(self.config),
            "seed": self.seed,
        }
