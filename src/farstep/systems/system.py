"""System: a real environment, and the parts of it that are known functions."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from farstep.data.checks import place
from farstep.data.episodes import Episodes
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError, one_line
from farstep.systems.mujoco_oracle import log_mujoco_warnings

Observation: TypeAlias = Float[Array, " d"]
Action: TypeAlias = Float[Array, " k"]
Reward: TypeAlias = Callable[[Observation, Action, Observation], Float[Array, ""]]
"""(observation, action, next observation) → the reward of that step, in JAX."""
Terminated: TypeAlias = Callable[[Observation, Action, Observation], Bool[Array, ""]]
"""(observation, action, next observation) → whether the task ends there, in JAX."""
Reset: TypeAlias = Callable[[PRNGKeyArray], Observation]
"""A random key → a first observation, distributed as the environment's, in JAX."""
Oracle: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Observations (n, d) and actions (n, h, k) → the simulator's next observations (n, h, d)."""


def never(
    observation: Observation, action: Action, next_observation: Observation
) -> Bool[Array, ""]:
    """Return false: no observation ends the task."""
    del observation, action, next_observation
    return jnp.array(False)


def forget_known_parts(system: "System") -> "System":
    """Return a system without interval, reward, reset and oracle, which options may change."""
    unknown = replace(system.signals, interval=None)
    return replace(system, signals=unknown, reward=None, reset=None, make_oracle=None)


@dataclass(frozen=True)
class System:
    """A real system: how to run it, and the parts of it that are known rather than learned."""

    name: str
    env_id: str | None
    """A Gymnasium id; for `module:id`, Gymnasium imports the module first. None if there are only
    data of the system: it cannot be run."""
    signals: Signals
    """Names and units of observations and actions, action bounds, control interval."""
    max_episode_steps: int
    """An episode is truncated after this many steps."""
    reward: Reward | None = None
    """None if it is not known as a function of observation and action."""
    terminated: Terminated | None = never
    """None if it is not known which observations end the task."""
    reset: Reset | None = None
    """None if first observations come from data only."""
    angles: tuple[tuple[int, int], ...] = ()
    """(cos, sin) pairs of observation dimensions."""
    make_oracle: Callable[[], Oracle] | None = None
    """Returns an oracle; None unless the simulator can be set to a recorded observation."""
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment; change them with `with_env_kwargs`."""
    update_for_env_kwargs: Callable[["System"], "System"] | None = None
    """Updates the known parts after `env_kwargs` changed; None if they do not depend on them.
    `forget_known_parts` removes them."""

    def make(self) -> gymnasium.Env[np.ndarray, np.ndarray]:
        """Make the environment, with a time limit of `max_episode_steps`."""
        self.check_runnable()
        log_mujoco_warnings()
        try:
            env = gymnasium.make(
                str(self.env_id), max_episode_steps=self.max_episode_steps, **self.env_kwargs
            )
        except FarstepError:
            raise
        except Exception as error:  # whatever the environment's own code raises
            reason = one_line(error).partition(" was raised from the environment creator")[0]
            raise FarstepError(
                f"the environment '{self.env_id}' cannot be made with options "
                f"{dict(self.env_kwargs)}: {reason}"
            ) from error
        try:
            self._check_spaces(env)
        except FarstepError:
            env.close()
            raise
        return env

    def _check_spaces(self, env: gymnasium.Env[np.ndarray, np.ndarray]) -> None:
        """Fail unless the spaces are flat boxes of the sizes of the signals."""
        counts = {"observation": self.signals.num_observations, "action": self.signals.num_actions}
        for kind, count in counts.items():
            space = getattr(env, f"{kind}_space")
            if not isinstance(space, gymnasium.spaces.Box) or space.shape != (count,):
                raise FarstepError(
                    f"system '{self.name}': the {kind} space of '{self.env_id}' is {space}, but "
                    f"its signals name {count} {kind}(s); use a flat Box of that size."
                )

    def with_env_kwargs(self, **options: Any) -> "System":
        """Return the system with other options for its environment."""
        changed = replace(self, env_kwargs={**self.env_kwargs, **options})
        return self.update_for_env_kwargs(changed) if self.update_for_env_kwargs else changed

    def check_runnable(self) -> None:
        """Fail if there is no environment to run."""
        if self.env_id is None:
            raise FarstepError(
                f"system '{self.name}' cannot be run: it has no environment (env_id is None)."
            )

    def check_bounded(self, who: str = "an agent") -> None:
        """Fail unless every action has bounds, which somebody needs."""
        if not self.signals.bounded:
            raise FarstepError(
                f"{who} needs bounds on every action; system '{self.name}' has none."
            )

    def check_actions(self, episodes: Episodes) -> None:
        """Warn if recorded actions are outside the bounds, perhaps because units differ."""
        for i, name in enumerate(self.signals.action_names):
            low, high = self.signals.action_low[i], self.signals.action_high[i]
            least, most = float(episodes.actions[:, i].min()), float(episodes.actions[:, i].max())
            slack = 0.01 * (high - low)
            if least < low - slack or most > high + slack:
                warnings.warn(
                    f"'{name}' is {least:.4g} to {most:.4g} in the data, but system '{self.name}' "
                    f"allows an agent {low:.4g} to {high:.4g}; check that the units are the same.",
                    DataWarning,
                    stacklevel=3,
                )

    def check_known_parts(self) -> None:
        """Fail unless reward, terminated and reset are JAX functions that fit the signals."""
        self.signals.check_angles(self.angles)
        observation = jax.ShapeDtypeStruct((self.signals.num_observations,), jnp.float32)
        action = jax.ShapeDtypeStruct((self.signals.num_actions,), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        step = (observation, action, observation)
        for name, part, arguments, shape in (
            ("reward", self.reward, step, ()),
            ("terminated", self.terminated, step, ()),
            ("reset", self.reset, (key,), observation.shape),
        ):
            if part is not None:
                _check_part(f"the {name} of system '{self.name}'", part, arguments, shape)

    def rewards_of(self, episodes: Episodes) -> Float[np.ndarray, " steps"]:
        """Return the known reward of every recorded step."""
        if self.reward is None:
            raise FarstepError(f"the reward of system '{self.name}' is not known.")
        before, after = episodes.transitions()
        of_steps = jax.jit(jax.vmap(self.reward))
        rewards = np.asarray(of_steps(*map(jnp.asarray, (before, episodes.actions, after))))
        wrong = np.flatnonzero(~np.isfinite(rewards))
        if len(wrong):
            raise FarstepError(
                f"the reward of system '{self.name}' is not finite at {len(wrong)} of "
                f"{len(rewards)} recorded steps, the first in "
                f"{place(int(wrong[0]), episodes.step_offsets)}."
            )
        return rewards


def check_takes(function: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    """Fail with this message unless a function can be called with so many arguments."""
    try:
        inspect.signature(function, follow_wrapped=False).bind(*arguments)
    except TypeError as error:
        raise FarstepError(f"{message}: {one_line(error)}.") from error
    except ValueError:  # some callables have no signature
        pass


def _check_part(
    its: str, part: Callable[..., Any], arguments: tuple[Any, ...], shape: tuple[int, ...]
) -> None:
    """Fail unless a known part is a JAX function that returns an array of this shape."""
    takes = "a random key" if len(arguments) == 1 else "(observation, action, next_observation)"
    check_takes(part, arguments, f"{its} must take {takes}")
    try:
        result = jax.eval_shape(part, *arguments)
    except Exception as error:  # whatever the user's own code raises
        raise FarstepError(
            f"{its} is not a function of JAX arrays ({one_line(error)}); use jax.numpy, and "
            "jnp.where in place of if."
        ) from error
    found = getattr(result, "shape", result)
    if found != shape:
        raise FarstepError(f"{its} returns {found}, but the shape must be {shape}.")
    if len(arguments) > 1:
        try:  # JAX replaces an index that is too large by the last one; NumPy raises
            with np.errstate(all="ignore"):
                part(*(np.zeros(one.shape, np.float32) for one in arguments))
        except IndexError as error:
            raise FarstepError(
                f"{its} uses an observation or action that does not exist: {one_line(error)}."
            ) from error
        except Exception:
            return
