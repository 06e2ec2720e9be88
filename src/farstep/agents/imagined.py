"""Training an agent inside a model, with a look at the real system now and then."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve, check_finite, described, now
from farstep.agents.files import Agent, AgentFiles, Progress, copied
from farstep.agents.networks import Layers
from farstep.agents.program import AgentState, Phase, Tally, imagined_returns, initial_state, live
from farstep.agents.sac import Learner
from farstep.agents.training import (
    IMAGINED_EPISODES,
    as_policy,
    identity,
    mean_return,
    notes,
    record,
    say,
)
from farstep.errors import FarstepError
from farstep.imagination.imagine import Imagination
from farstep.progress import Bar
from farstep.tensorboard import TensorBoard

_AT_ONCE = 1000
"""Steps of the loop in one call, at most: between calls the bar moves and Ctrl-C is heard."""


class Keys(NamedTuple):
    """Random keys of one training."""

    first: jax.Array
    """Of the agent's first numbers and the systems' first states."""
    steps: jax.Array
    """Of every step and update."""
    evaluation: jax.Array
    """Of the imagined episodes at each evaluation, the same ones every time."""


@dataclasses.dataclass
class ImaginedTraining:
    """One agent, one imagination."""

    imagination: Imagination
    config: AgentConfig
    seed: int
    start: Learner | None = None
    """What the agent begins with, in place of random numbers."""

    def __post_init__(self) -> None:
        self.keys = Keys(*jax.random.split(jax.random.key(self.seed), 3))

    def run(self, out: Path | None, force: bool) -> Agent:
        """Train from where the checkpoint stands; what is finished is read."""
        self._check_start()
        told = identity(self.imagination, self.config, self.seed, self.start)
        files = AgentFiles(out, told, force)
        finished = files.finished(jax.eval_shape(self.first).learner)
        if finished is not None:
            say(notes(finished.curve))
            return finished
        files.check()
        at = files.read(jax.eval_shape(self.first)) or self._new()
        start = int(at.state.steps)
        with (
            TensorBoard(out, start + 1) as board,
            Bar("agent", self.config.steps, "steps", start) as bar,
        ):
            while int(at.state.steps) < self.config.steps:
                at = self._interval(at, bar)
                board.add(at.curve.scalars, int(at.state.steps))
                files.write(at)
        say(notes(at.curve))
        return files.store(self._agent(at, files.identity))

    def _check_start(self) -> None:
        """Fail if the agent to start from has other networks."""
        world, config = self.imagination.world, self.config
        new = jax.eval_shape(lambda: initial_state(self.keys.first, world, config).learner)
        if self.start is not None and _networks(self.start) != _networks(new):
            raise FarstepError(
                "the agent to start from has other networks (net_arch), states or actions."
            )

    def first(self) -> AgentState:
        """Return a new agent in new systems."""
        state = initial_state(self.keys.first, self.imagination.world, self.config)
        if self.start is None:
            return state
        start = self.start.in_units(state.learner.units)
        averaged = None if self.config.average is None else copied(start.evaluated)
        learner = copied(start)._replace(averaged=averaged)
        known = jnp.isfinite(learner.log_temperature)  # one of 0 would stay there
        goes_on = known & (self.config.ent_coef is None)
        new = state.learner
        log_temperature, optimiser = jax.tree.map(
            lambda old, fresh: jnp.where(goes_on, old, fresh),
            (learner.log_temperature, learner.optimisers[2]),
            (new.log_temperature, new.optimisers[2]),
        )
        optimisers = (*learner.optimisers[:2], optimiser)
        learner = learner._replace(log_temperature=log_temperature, optimisers=optimisers)
        return state._replace(learner=learner)

    def _new(self) -> Progress:
        state = self.first()
        curve = AgentCurve()
        if self.start is not None and self.config.keep == "best":
            row = {"steps": 0, "updates": 0, **curve.time_since(now())}
            curve.add({**row, **self._returns(state.learner.policy)})
        return Progress(state, copied(state.learner.policy), curve, self._kept(None, state, curve))

    def _kept(self, before: Learner | None, state: AgentState, curve: AgentCurve) -> Any:
        """Return the learner to keep, if it is to be the one that the model thinks best."""
        if self.config.keep == "last":
            return None
        return copied(state.learner) if curve.leads(curve.promising) else before

    def _returns(self, actor: Layers) -> dict[str, float | None]:
        keys = jax.random.split(self.keys.evaluation, IMAGINED_EPISODES)
        system, config = self.imagination.system, self.config
        policy = as_policy(actor, system, {})
        worlds = {"imagined_return": self.imagination.whole}
        if self.imagination.world.penalty and config.keep == "best":
            worlds["careful_return"] = self.imagination.careful
        return {
            **{n: float(imagined_returns(w, actor, keys).mean()) for n, w in worlds.items()},
            "real_return": mean_return(system, policy, config.eval_episodes, self.seed),
        }

    def _interval(self, at: Progress, bar: Bar) -> Progress:
        """Train to the next evaluation, and evaluate."""
        began, config = now(), self.config
        state, tally, done = at.state, Tally.zero(), int(at.state.steps)
        end = config.next_evaluation(done)
        while done < end:
            learns = done >= config.learning_starts
            phase = Phase(acts=learns or self.start is not None, learns=learns)
            until = end if learns else min(end, config.learning_starts)
            count = min(-(-(until - done) // config.num_envs), _AT_ONCE)
            state, new = live(
                state, self.imagination.world, self.keys.steps, jnp.array(count), config, phase
            )
            check_finite(new.losses)
            tally, done = tally.plus(new), int(state.steps)
            bar.advance(_status(described(tally), at.curve), by=count * config.num_envs)
        spent = at.curve.time_since(began)
        actor = state.learner.policy
        row: dict[str, Any] = {
            "steps": done,
            "updates": (at.curve.last.get("updates") or 0) + int(tally.updates),
            **spent,
            **self._returns(actor),
            **described(tally),
        }
        at.curve.add(row)
        best = copied(actor) if at.curve.leads(at.curve.best) else at.best
        return Progress(state, best, at.curve, self._kept(at.kept, state, at.curve))

    def _agent(self, at: Progress, identity: str) -> Agent:
        kept = record(identity, self.imagination, self.config, self.seed, at.curve)
        learner = at.state.learner if at.kept is None else at.kept
        policy, best = (
            as_policy(actor, self.imagination.system, kept) for actor in (learner.policy, at.best)
        )
        return Agent(policy, best, at.curve, learner=learner)


def _networks(learner: Learner) -> Any:
    """Return the shapes of everything but the average, which a training has or has not."""
    return tensors.shapes(learner._replace(averaged=None))


def _status(now: dict[str, float | None], curve: AgentCurve) -> str:
    imagined, real = now["training_return"], curve.last.get("real_return")
    shown = [
        f"{name} {value:.4g}"
        for name, value in (("imagined", imagined), ("real", real))
        if value is not None
    ]
    return "  ".join(shown)
