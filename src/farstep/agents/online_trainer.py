"""OnlineTrainer: trains SAC on a real system, and records every episode."""

from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.agent import TRACE_FILE, Agent
from farstep.agents.config import AgentConfig
from farstep.agents.replay import Replay, Transitions, empty_replay, store
from farstep.agents.sac import DIVERGED, Learner, Losses, act, create_learner, learn, to_bounds
from farstep.agents.trainer import SACTrainer
from farstep.data import npz
from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import DivergedError, FarstepError
from farstep.runtime.progress import Bar
from farstep.storage.files import publish
from farstep.storage.fingerprint import plain
from farstep.storage.run_directory import RunDirectory
from farstep.systems.policies import FunctionPolicy
from farstep.systems.recording import record_episode
from farstep.systems.system import System


class OnlineState(NamedTuple):
    """What one real step hands to the next."""

    learner: Learner
    replay: Replay
    steps: Int[Array, ""]


class OnlineTrainer(SACTrainer):
    """Trains one agent on one real system. Agents of real systems are stored without a learner."""

    def __init__(self, system: System, config: AgentConfig, seed: int) -> None:
        super().__init__(system, config, seed)
        self.label = system.name
        keys = jax.random.split(jax.random.key(seed), 3)
        self._initial_key, self._act_key, self._learn_key = keys
        self._episodes: list[Episode] = []
        self._action = jnp.zeros(system.signals.num_actions)
        """The last action, scaled to [−1, 1]."""
        self._losses = Losses.zero()
        """Summed since the last evaluation."""

    def initial_state(self) -> OnlineState:
        """Return a new agent with an empty replay buffer."""
        signals, config = self.system.signals, self.config
        d, k = signals.num_observations, signals.num_actions
        capacity = min(config.buffer_size, config.steps + self.system.max_episode_steps)
        return OnlineState(
            create_learner(self._initial_key, d, k, config),
            empty_replay(capacity, (d, k), 1),
            jnp.zeros((), jnp.int32),
        )

    def begin(self, run: RunDirectory) -> None:
        """Continue from the run's checkpoint and its episodes, or begin."""
        super().begin(run)
        if self.curve.rows and run.path is not None:
            stored = read_dataset(run.path / TRACE_FILE)
            self._episodes = list(stored)[: int(self.curve.last["episodes"] or 0)]

    def advance(self, run: RunDirectory, bar: Bar) -> None:
        """Train to the next evaluation, and evaluate; store the episodes if that fails."""
        try:
            super().advance(run, bar)
        except FarstepError as error:
            raise type(error)(f"{error}{self._save_after_failure(run)}") from error

    def train_until(self, end: int, bar: Bar) -> dict[str, Any]:
        """Run full episodes until this step is reached; return columns of the learning curve."""
        config, first = self.config, len(self._episodes)
        while (before := self.steps) < end:
            self._episodes.append(self._episode(len(self._episodes)))
            shown = f"return {self._episodes[-1].total_reward:.4g}"
            bar.advance(shown, by=self.steps - before)
        updates = max(self.steps - config.warm_up, 0) * config.gradient_steps
        losses, self._losses = self._losses, Losses.zero()
        losses.check_finite()
        return {
            "episodes": len(self._episodes),
            "updates": updates,
            "training_return": float(
                np.mean([episode.total_reward for episode in self._episodes[first:]])
            ),
            **losses.means(updates - int(self.curve.last.get("updates") or 0)),
        }

    def save(self, run: RunDirectory) -> None:
        """Store all episodes, then the checkpoint."""
        run.save_config()
        self._save_episodes(run)
        super().save(run)

    def agent(self, run: RunDirectory) -> Agent:
        """Return the trained agent with all episodes."""
        return replace(super().agent(run), episodes=self._recorded())

    def _episode(self, number: int) -> Episode:
        """Run one episode while learning; each has its own seed and environment."""
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        env, trouble = self.system.make(), []
        try:
            policy = FunctionPolicy(self._act)
            episode = record_episode(env, policy, seed, self._learn, trouble.append)
        finally:
            env.close()
        if trouble and not np.isfinite(self._action).all():
            raise DivergedError(DIVERGED)
        if trouble:
            if len(episode.actions):
                self._episodes.append(episode)
            raise FarstepError(f"in episode {number}, {trouble[0].rstrip('.')}.")
        return episode

    def _act(self, observation: np.ndarray) -> np.ndarray:
        steps = self.state.steps
        self._action, action = choose_action(
            self.state.learner,
            jnp.asarray(observation, jnp.float32),
            self._act_key,
            steps,
            self.system.signals,
            int(steps) >= self.config.warm_up,
        )
        return self.system.signals.clip(np.asarray(action))

    def _learn(
        self,
        observation: np.ndarray,
        action: np.ndarray,
        reward: float,
        next_observation: np.ndarray,
        terminated: bool,
    ) -> None:
        del action  # in the system's units; the buffer has it scaled
        given = (observation, next_observation)
        before, after = (jnp.asarray(one, jnp.float32)[None] for one in given)
        new = Transitions(
            states=before,
            actions=self._action[None],
            rewards=jnp.asarray([reward], jnp.float32),
            next_states=after,
            terminated=jnp.asarray([terminated], jnp.float32),
            observations=before,
            next_observations=after,
        )
        learns = self.steps >= self.config.warm_up
        self.state, losses = learn_from(
            self.state, new, self._learn_key, self.config.compiled, learns
        )
        if learns:
            self._losses = jax.tree.map(jnp.add, self._losses, losses)

    def _recorded(self) -> Episodes:
        trained = {
            "env_id": self.system.env_id,
            "env_kwargs": plain(self.system.env_kwargs),
            "agent": plain(self.config),
            "seed": self.seed,
        }
        given = (self._episodes, self.system.signals, self.system.name)
        return Episodes.from_list(*given, {"trained": trained})

    def _save_episodes(self, run: RunDirectory, name: str = TRACE_FILE) -> None:
        if run.path is not None:
            publish(run.path / name, {"": npz.encode(self._recorded())}, force=True)

    def _save_after_failure(self, run: RunDirectory) -> str:
        """Store what was recorded before a failure; return where, and how to continue.

        Before the first checkpoint the episodes get a file of their own, which no later run
        replaces.
        """
        if run.path is None or not self._episodes:
            return ""
        name, resumable = TRACE_FILE, bool(self.curve.rows)
        if not resumable:
            names = (f"episodes-failed-{number}.npz" for number in count(1))
            name = next(name for name in names if not (run.path / name).exists())
        self._save_episodes(run, name)
        where = "from the last checkpoint" if resumable else "from the beginning"
        return (
            f" {len(self._episodes)} episode(s) are in {run.path / name}; repair what failed and "
            f"run the same training again, which continues {where}."
        )


@partial(jax.jit, static_argnames=("signals", "learns"))
def choose_action(
    learner: Learner,
    observation: Float[Array, " d"],
    key: PRNGKeyArray,
    number: Int[Array, ""],
    signals: Signals,
    learns: bool,
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Return the action of step `number`, scaled to [−1, 1] and in the system's units.

    Before the agent `learns`, actions are uniformly random.
    """
    key = jax.random.fold_in(key, number)
    if learns:
        action = act(learner, observation[None], key)
    else:
        action = jax.random.uniform(key, (1, signals.num_actions), minval=-1.0, maxval=1.0)
    return action[0], to_bounds(action, signals)[0]


@partial(jax.jit, static_argnames=("config", "learns"), donate_argnames="state")
def learn_from(
    state: OnlineState, new: Transitions, key: PRNGKeyArray, config: AgentConfig, learns: bool
) -> tuple[OnlineState, Losses]:
    """Store one transition, and update the agent after its warm-up."""
    replay, learner = store(state.replay, new), state.learner
    losses = Losses.zero()
    if learns:
        learner, losses = learn(learner, replay, jax.random.fold_in(key, state.steps), config)
    return OnlineState(learner, replay, state.steps + 1), losses
