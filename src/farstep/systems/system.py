"""System: a real environment joined with what imagining it needs."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from farstep.episodes import Episodes
from farstep.errors import DataWarning, FarstepError, one_line
from farstep.signals import Signals
from farstep.systems.mujoco_log import log_mujoco_warnings

if TYPE_CHECKING:
    import gymnasium

State: TypeAlias = Float[Array, " d"]
Action: TypeAlias = Float[Array, " k"]
Reward: TypeAlias = Callable[[State, Action, State], Float[Array, ""]]
"""(state, action, next state) → reward of that step. Pure JAX."""
Terminated: TypeAlias = Callable[[State, Action, State], Bool[Array, ""]]
"""(state, action, next state) → whether the next state ends the task. Pure JAX."""
Reset: TypeAlias = Callable[[PRNGKeyArray], State]
"""A random key → a first state, distributed as the environment's. Pure JAX."""
Oracle: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The simulator set to observed states (n, d) and stepped with actions (n, h, k):
the states (n, h, d) that follow."""


def never(state: State, action: Action, next_state: State) -> Bool[Array, ""]:
    """Say that no state ends the task."""
    del state, action, next_state
    return jnp.array(False)


def forget(system: "System") -> "System":
    """Return a system whose options are other than usual: of its known parts no more is known."""
    unknown = replace(system.signals, interval=None)
    return replace(system, signals=unknown, reward=None, reset=None, oracle=None)


@dataclass(frozen=True)
class System:
    """A real system: how to run it, and the parts of it that are known rather than learned."""

    name: str
    env_id: str | None
    """A Gymnasium id. `module:id` imports the module that registers it first. None if there are
    only data of the system: it cannot be run."""
    signals: Signals
    """Names and units of states and actions, action bounds, control interval."""
    episode_steps: int
    """Steps after which an episode is cut off."""
    reward: Reward | None = None
    """None if it is not known as a function of state and action."""
    terminated: Terminated | None = never
    """None if it is not known which states end the task."""
    reset: Reset | None = None
    """None if first states come from data only."""
    angles: tuple[tuple[int, int], ...] = ()
    """Pairs of state dimensions that are the cosine and the sine of one angle."""
    oracle: Callable[[], Oracle] | None = None
    """Makes an oracle, where the simulator can be set to an observed state."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments for the environment; change them with `with_options`."""
    adapt: Callable[["System"], "System"] | None = None
    """Makes the known parts agree with changed options, where they depend on them; `forget` says
    that they are not known then."""

    def make(self) -> "gymnasium.Env[np.ndarray, np.ndarray]":
        """Make the environment, cut off after `episode_steps`."""
        import gymnasium

        self.check_runnable()
        log_mujoco_warnings()
        try:
            env = gymnasium.make(
                str(self.env_id), max_episode_steps=self.episode_steps, **self.env_options
            )
        except FarstepError:
            raise
        except Exception as error:  # whatever the environment's own code raises
            told = one_line(error).partition(" was raised from the environment creator")[0]
            raise FarstepError(
                f"the environment '{self.env_id}' cannot be made with options "
                f"{dict(self.env_options)}: {told}"
            ) from error
        try:
            self._check_spaces(env)
        except FarstepError:
            env.close()
            raise
        return env

    def _check_spaces(self, env: "gymnasium.Env[np.ndarray, np.ndarray]") -> None:
        from gymnasium.spaces import Box

        for kind in ("observation", "action"):
            space = getattr(env, f"{kind}_space")
            count = self.signals.num_states if kind == "observation" else self.signals.num_actions
            if not isinstance(space, Box) or space.shape != (count,):
                raise FarstepError(
                    f"system '{self.name}': the {kind} space of '{self.env_id}' is {space}, but "
                    f"its signals name {count} {kind}(s); a flat Box of that size is needed."
                )

    def check_runnable(self) -> None:
        """Fail if there is no environment to run."""
        if self.env_id is None:
            raise FarstepError(
                f"system '{self.name}' cannot be run: it has no environment (env_id is None)."
            )

    def check_bounded(self) -> None:
        """Fail if an action has no bounds: agents act between them."""
        if not self.signals.bounded:
            raise FarstepError(
                f"an agent needs bounds on every action; system '{self.name}' has none."
            )

    def check_known_parts(self) -> None:
        """Fail if reward, end or reset are not JAX, or what is known does not fit the states."""
        self.signals.check_angles(self.angles)
        state = jax.ShapeDtypeStruct((self.signals.num_states,), jnp.float32)
        action = jax.ShapeDtypeStruct((self.signals.num_actions,), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        step = (state, action, state)
        self._check_part("reward", self.reward, step, ())
        self._check_part("terminated", self.terminated, step, ())
        self._check_part("reset", self.reset, (key,), state.shape)

    def check_actions(self, episodes: Episodes) -> None:
        """Say so if recorded actions are beyond the system's bounds: of other units, perhaps."""
        for i, name in enumerate(self.signals.action_names):
            low, high = self.signals.action_low[i], self.signals.action_high[i]
            least, most = float(episodes.actions[:, i].min()), float(episodes.actions[:, i].max())
            slack = 0.01 * (high - low)
            if least < low - slack or most > high + slack:
                warnings.warn(
                    f"'{name}' is {least:.4g} to {most:.4g} in the data, but {low:.4g} to "
                    f"{high:.4g} is all that system '{self.name}' allows an agent; are both in "
                    "the same unit?",
                    DataWarning,
                    stacklevel=3,
                )

    def _check_part(
        self,
        name: str,
        part: Callable[..., Any] | None,
        given: tuple[Any, ...],
        shape: tuple[int, ...],
    ) -> None:
        if part is None:
            return
        takes = "a random key" if len(given) == 1 else "(state, action, next_state)"
        try:
            inspect.signature(part, follow_wrapped=False).bind(*given)
        except TypeError as error:
            raise FarstepError(
                f"the {name} of system '{self.name}' must take {takes}: {one_line(error)}."
            ) from error
        except ValueError:  # what has no signature
            pass
        try:
            found = jax.eval_shape(part, *given)
        except Exception as error:  # whatever the user's own code raises
            raise FarstepError(
                f"the {name} of system '{self.name}' is no function of JAX arrays "
                f"({one_line(error)}); use jax.numpy, and jnp.where in place of if."
            ) from error
        if getattr(found, "shape", None) != shape:
            raise FarstepError(
                f"the {name} of system '{self.name}' gives {getattr(found, 'shape', found)}, but "
                f"the shape must be {shape}."
            )
        if len(given) > 1:
            self._check_indices(name, part, [np.zeros(one.shape, np.float32) for one in given])

    def _check_indices(self, name: str, part: Callable[..., Any], given: Sequence[Any]) -> None:
        """Fail if a state or an action is asked for that there is not; JAX would take the last one.

        It is noticed of NumPy's arrays, so not where a function makes JAX's of them first.
        """
        try:
            with np.errstate(all="ignore"):
                part(*given)
        except IndexError as error:
            raise FarstepError(
                f"the {name} of system '{self.name}' uses a state or action that it has not: "
                f"{one_line(error)}."
            ) from error
        except Exception:
            return

    def with_options(self, **options: Any) -> "System":
        """Return the system with other options for its environment."""
        changed = replace(self, env_options={**self.env_options, **options})
        return self.adapt(changed) if self.adapt else changed

    def rewards_of(self, episodes: Episodes) -> Float[np.ndarray, " steps"]:
        """Return the known reward along recorded episodes, one for each step."""
        if self.reward is None:
            raise FarstepError(f"the reward of system '{self.name}' is not known.")
        before, after = episodes.transitions()
        along = jax.jit(jax.vmap(self.reward))
        found = np.asarray(along(*map(jnp.asarray, (before, episodes.actions, after))))
        wrong = np.flatnonzero(~np.isfinite(found))
        if len(wrong):
            episode = int(np.searchsorted(episodes.step_offsets, wrong[0], side="right")) - 1
            raise FarstepError(
                f"the reward of system '{self.name}' is not finite at {len(wrong)} of {len(found)} "
                f"recorded steps, the first in episode {episode}, step "
                f"{wrong[0] - episodes.step_offsets[episode]}."
            )
        return found
