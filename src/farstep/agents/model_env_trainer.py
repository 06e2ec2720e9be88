"""ModelEnvTrainer: SAC in a model environment, in a compiled loop: act, step, store, update."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from farstep.agents.agent import Agent
from farstep.agents.config import AgentConfig
from farstep.agents.learning_curve import now
from farstep.agents.networks import ObservationScale
from farstep.agents.real_return import IMAGINED_EPISODES, imagined_returns
from farstep.agents.replay import Replay, Transitions, empty_replay, store
from farstep.agents.sac import Learner, Losses, act, copied, create_learner, learn, to_bounds
from farstep.agents.trainer import SACTrainer
from farstep.errors import FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.model_env.pure_env import EnvState, PureEnv
from farstep.runtime.progress import Bar
from farstep.storage import tensors
from farstep.storage.run_directory import RunDirectory

_MAX_STEPS = 1000
"""Steps of the loop in one call, at most: between calls the bar moves and Ctrl-C is heard."""


class TrainingState(NamedTuple):
    """What one step of the loop hands to the next."""

    learner: Learner
    replay: Replay
    env_states: EnvState
    """Of all environments."""
    returns: Float[Array, " n"]
    """Of the unfinished episodes."""
    steps: Int[Array, ""]
    """Of all environments together, so far."""


class Totals(NamedTuple):
    """Sums over some steps of the loop."""

    episodes: Int[Array, ""]
    """Finished episodes."""
    returns: Float[Array, ""]
    """Of the finished episodes."""
    steps: Int[Array, ""]
    """Of all environments together."""
    loop_steps: Int[Array, ""]
    out_of_bounds: Int[Array, ""]
    """Steps in which the model left the bounds."""
    not_finite: Int[Array, ""]
    """Steps without a finite state or reward."""
    data_distance: Float[Array, ""]
    """Summed over steps of the loop, each the mean over up to 8 environments."""
    updates: Int[Array, ""]
    losses: Losses

    @classmethod
    def zero(cls) -> "Totals":
        """Return the sums over no steps."""
        none, zero = jnp.zeros((), jnp.int32), jnp.zeros(())
        return cls(none, zero, none, none, none, none, zero, none, Losses(zero, zero, zero, zero))

    def plus(self, other: "Totals") -> "Totals":
        """Return the sums over both."""
        return jax.tree.map(jnp.add, self, other)

    def columns(self) -> dict[str, float | None]:
        """Return means over these steps, by column name of the learning curve."""
        sums = jax.device_get(self)
        steps, episodes = int(sums.steps), int(sums.episodes)
        return {
            "training_return": float(sums.returns) / episodes if episodes else None,
            "out_of_bounds": int(sums.out_of_bounds) / max(steps, 1),
            "not_finite": float(sums.not_finite),
            "data_distance": float(sums.data_distance) / max(int(sums.loop_steps), 1),
            **sums.losses.means(int(sums.updates)),
        }


class ModelEnvTrainer(SACTrainer):
    """Trains one agent in one model environment."""

    env: ModelEnv

    def __init__(
        self, env: ModelEnv, config: AgentConfig, seed: int, start: Learner | None = None
    ) -> None:
        """Fail if the agent to start from has other networks.

        Args:
            env: The model environment.
            config: The agent's settings.
            seed: Of all random numbers.
            start: Networks and optimisers to continue from; None draws new ones.
        """
        super().__init__(env, config, seed)
        self.start = start
        # The last key is of the imagined episodes, which are the same at each evaluation.
        keys = jax.random.split(jax.random.key(seed), 3)
        self._initial_key, self.steps_key, self._evaluation_key = keys
        if start is not None:
            new = jax.eval_shape(self._new_state)
            if _shapes(start) != _shapes(new.learner):
                raise FarstepError(
                    "start has other networks (net_arch), observations or actions; train a new "
                    "agent, or choose the same net_arch."
                )

    @property
    def learner_shapes(self) -> Learner:
        """A learner without numbers, to read a stored one into."""
        return jax.eval_shape(self.initial_state).learner

    def initial_state(self) -> TrainingState:
        """Return the agent before training, at the start of new episodes.

        Of the agent to start from, a learned temperature continues only if it is learned here too;
        one of 0 would remain 0, so it is replaced.
        """
        state = self._new_state()
        if self.start is None:
            return state
        new = state.learner
        start = self.start.with_scale(new.scale)
        averaged = None if self.config.ema_decay is None else copied(start.evaluated)
        learner = copied(start)._replace(averaged=averaged)
        continues = jnp.isfinite(learner.log_temperature) & (self.config.ent_coef is None)
        log_temperature, optimiser = jax.tree.map(
            lambda old, fresh: jnp.where(continues, old, fresh),
            (learner.log_temperature, learner.optimisers[2]),
            (new.log_temperature, new.optimisers[2]),
        )
        optimisers = (*learner.optimisers[:2], optimiser)
        learner = learner._replace(log_temperature=log_temperature, optimisers=optimisers)
        return state._replace(learner=learner)

    def _new_state(self) -> TrainingState:
        """Return a new agent at the start of new episodes."""
        env, config = self.env.pure, self.config
        learner_key, reset_key = jax.random.split(self._initial_key)
        d, k, n = env.signals.num_observations, env.signals.num_actions, config.num_envs
        capacity = min(config.buffer_size, config.steps)
        scale = ObservationScale.of(env.observation_mean, env.observation_std)
        return TrainingState(
            learner=create_learner(learner_key, d, k, config, scale),
            replay=empty_replay(capacity, (d, k), n, noisy=bool(env.observation_noise)),
            env_states=copied(jax.vmap(env.reset)(jax.random.split(reset_key, n))),
            returns=jnp.zeros(n),
            steps=jnp.zeros((), jnp.int32),
        )

    def begin(self, run: RunDirectory) -> None:
        """Continue from the checkpoint, or begin; `keep="best"` counts the agent to start from."""
        super().begin(run)
        if self.start is not None and self.config.keep == "best" and not self.curve.rows:
            self.evaluate({"updates": 0, **self.curve.time_since(now())})

    def train_until(self, end: int, bar: Bar) -> dict[str, Any]:
        """Train up to this step; return columns of the learning curve."""
        config, totals = self.config, Totals.zero()
        while (done := self.steps) < end:
            learns = done >= config.warm_up
            acts = learns or self.start is not None
            until = end if learns else min(end, config.warm_up)
            count = min(-(-(until - done) // config.num_envs), _MAX_STEPS)
            self.state, new = train_steps(
                self.state, self.env.pure, self.steps_key, jnp.array(count), config.compiled,
                acts, learns,
            )  # fmt: skip
            new.losses.check_finite()
            totals = totals.plus(new)
            imagined, real = totals.columns()["training_return"], self.curve.last.get("real_return")
            returns = {"imagined": imagined, "real": real}
            shown = (f"{n} {value:.4g}" for n, value in returns.items() if value is not None)
            bar.advance("  ".join(shown), by=count * config.num_envs)
        updates = (self.curve.last.get("updates") or 0) + int(totals.updates)
        return {"updates": updates, **totals.columns()}

    def evaluate(self, columns: dict[str, Any]) -> None:
        """Add a row to the learning curve, and keep the best agents."""
        super().evaluate(columns)
        if self.config.keep == "best" and self.curve.is_last(self.curve.best_imagined):
            self.kept = copied(self.state.learner)

    def imagined_columns(self) -> dict[str, float]:
        """Return the actor's mean returns in the model, by column name."""
        keys = jax.random.split(self._evaluation_key, IMAGINED_EPISODES)
        envs = {"imagined_return": self.env.evaluation_env}
        if self.env.pure.uncertainty_penalty and self.config.keep == "best":
            envs["penalised_return"] = self.env.penalised_env
        actor = self.state.learner.unscaled
        return {n: float(imagined_returns(env, actor, keys).mean()) for n, env in envs.items()}

    def agent(self, run: RunDirectory) -> Agent:
        """Return the agent, which is the one that was kept if one was, with its learner."""
        if self.kept is not None:
            self.state = self.state._replace(learner=self.kept)
        return replace(super().agent(run), learner=self.state.learner)


def _shapes(learner: Learner) -> Any:
    """Return the shapes of all arrays but the average, which not every learner has."""
    return tensors.shapes(learner._replace(averaged=None))


@partial(jax.jit, static_argnames=("config", "acts", "learns"), donate_argnames="state")
def train_steps(
    state: TrainingState,
    env: PureEnv,
    key: PRNGKeyArray,
    count: Int[Array, ""],
    config: AgentConfig,
    acts: bool,
    learns: bool,
) -> tuple[TrainingState, Totals]:
    """Make `count` steps in every environment; one program serves every count.

    Args:
        state: Where the training is; its buffers are reused.
        env: The environment.
        key: Of the whole training; each step folds its number into it.
        count: Steps of each environment.
        config: The agent's settings.
        acts: Whether the agent acts; otherwise actions are uniformly random.
        learns: Whether the agent is updated.
    """

    def once(_: Int[Array, ""], carry: tuple[TrainingState, Totals]) -> tuple:
        state, totals = carry
        step_key = jax.random.fold_in(key, state.steps)
        state, new = _step(state, env, step_key, config, acts, learns)
        return state, totals.plus(new)

    return jax.lax.fori_loop(0, count, once, (state, Totals.zero()))


def _step(
    state: TrainingState,
    env: PureEnv,
    key: PRNGKeyArray,
    config: AgentConfig,
    acts: bool,
    learns: bool,
) -> tuple[TrainingState, Totals]:
    """Act and step once in every environment, then update."""
    act_key, env_key, update_key = jax.random.split(key, 3)
    before, learner, n = state.env_states, state.learner, config.num_envs
    if acts:
        actions = act(learner, before.observation, act_key)
    else:
        shape = (n, env.signals.num_actions)
        actions = jax.random.uniform(act_key, shape, minval=-1.0, maxval=1.0)
    applied = to_bounds(actions, env.signals)
    after, step = env.step_all(before, applied, jax.random.split(env_key, n), state.steps)
    new = Transitions(
        states=before.state,
        actions=actions,
        rewards=step.reward,
        next_states=step.state,
        terminated=step.terminated.astype(float),
        observations=before.observation,
        next_observations=step.observation,
    )
    replay = store(state.replay, new)
    losses, updates = Losses.zero(), config.gradient_steps if learns else 0
    if learns:
        learner, losses = learn(learner, replay, update_key, config)
    returns = state.returns + step.reward
    totals = Totals(
        episodes=step.done.sum(dtype=jnp.int32),
        returns=jnp.where(step.done, returns, 0.0).sum(),
        steps=jnp.array(n, jnp.int32),
        loop_steps=jnp.ones((), jnp.int32),
        out_of_bounds=step.out_of_bounds.sum(dtype=jnp.int32),
        not_finite=step.not_finite.sum(dtype=jnp.int32),
        data_distance=env.mean_data_distance(before.state, applied),
        updates=jnp.array(updates, jnp.int32),
        losses=losses,
    )
    returns = jnp.where(step.done, 0.0, returns)
    return TrainingState(learner, replay, after, returns, state.steps + n), totals
