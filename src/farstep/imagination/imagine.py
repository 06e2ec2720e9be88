"""imagine: a model and a system in, an environment out."""

import dataclasses
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from farstep.choices import Choice
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.dynamics.reward import KnownReward
from farstep.dynamics.scaling import Scaling, deviation
from farstep.episodes import Episodes, check_episodes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import replaced
from farstep.imagination.config import ImagineConfig
from farstep.imagination.familiarity import Familiarity
from farstep.imagination.start_states import StartStates
from farstep.imagination.world import Rewarding, World
from farstep.model import Model
from farstep.packages import require
from farstep.programs import check_precision
from farstep.signals import Signals
from farstep.systems.registry import named_by_file, system_of
from farstep.systems.registry import system as system_named
from farstep.systems.system import System, never

if TYPE_CHECKING:
    from farstep.imagination.gymnasium_env import ImaginedEnv, ImaginedVectorEnv
    from farstep.imagination.sb3_env import ImaginedVecEnv


@dataclass(frozen=True, eq=False, repr=False)
class Imagination:
    """A learned model as an environment, for agents of any kind."""

    world: World
    """The pure part: reset, step, reward and done as functions of arrays."""
    system: System
    config: ImagineConfig
    model: Model
    first: StartStates | None = None
    """The data's first states, where whole episodes start."""

    def __repr__(self) -> str:
        """One line, without the model's numbers."""
        return f"Imagination of {self.system.name}: {self.config}"

    @property
    def careful(self) -> World:
        """The whole world with the penalty, which a policy is chosen by."""
        return dataclasses.replace(self.whole, penalty=self.world.penalty)

    @property
    def whole(self) -> World:
        """The world as the real system is run: whole episodes from first states, no penalty.

        Where episodes end beyond the bounds they do so here as well.
        """
        return dataclasses.replace(
            self.world,
            starts=self.first,
            episode_steps=self.system.episode_steps,
            penalty=0.0,
        )

    def env(self) -> "ImaginedEnv":
        """Return one imagined system as a Gymnasium `Env`."""
        from farstep.imagination.gymnasium_env import ImaginedEnv

        return ImaginedEnv(self.world)

    def vector_env(self, num_envs: int) -> "ImaginedVectorEnv":
        """Return many as one Gymnasium `VectorEnv`, stepped in one compiled call."""
        from farstep.imagination.gymnasium_env import ImaginedVectorEnv

        return ImaginedVectorEnv(self.world, num_envs)

    def sb3_env(self, num_envs: int = 1) -> "ImaginedVecEnv":
        """Return many as one Stable-Baselines3 `VecEnv`, stepped in one compiled call."""
        require("sb3")
        from farstep.imagination.sb3_env import ImaginedVecEnv

        return ImaginedVecEnv(self.world, num_envs)


def imagine(
    model: Model,
    system: System | str | None = None,
    data: Episodes | None = None,
    config: ImagineConfig | None = None,
    **settings: Any,
) -> Imagination:
    """Turn a model into an environment.

    Args:
        model: A one-step model, single or an ensemble.
        system: What is known of the system, or its name; the model's own without it.
        data: Where episodes start, and what distances and bounds are measured against. Without
            it they start from the system's reset, and bounds are those the model has seen.
        config: The settings; those given by name replace its fields.
        **settings: Fields of `ImagineConfig`, such as `penalty=1.0`.
    """
    check_precision()
    if not isinstance(model, Model):
        raise FarstepError(
            f"a {type(model).__name__} is no model; fit one, or load it with load_model."
        )
    if data is not None:
        check_episodes(data)
    config = replaced(config or ImagineConfig(), settings)
    if data is None and "starts" not in settings and config.starts == "first":
        config = dataclasses.replace(config, starts="reset")
    config.check()
    known = _system(model, system, data)
    config.check_system(known)
    _check_model(model)
    check_alike("model", model.signals, known)
    if data is not None:
        check_alike("data", data.signals, known)
    known.check_bounded()
    if data is not None:
        known.check_actions(data)
    known.check_known_parts()
    world = _world(model, known, data, config)
    if known.terminated is None:
        warnings.warn(
            f"it is not known which states end the task of system '{known.name}': imagined "
            "episodes end by time alone. Give its System a `terminated` function.",
            DataWarning,
            stacklevel=2,
        )
    elif data is not None and (missed := _missed_ends(known, data)):
        warnings.warn(
            f"{missed} of {int(data.terminated.sum())} episode(s) that ended their task do so "
            f"where the `terminated` of system '{known.name}' says that it goes on; there imagined "
            "episodes do not end.",
            DataWarning,
            stacklevel=2,
        )
    first = None if data is None else StartStates.of(data.states[data.row_offsets[:-1]])
    return Imagination(world, known, config, model, first)


def _system(model: Model, system: System | str | None, data: Episodes | None) -> System:
    if isinstance(system, System):
        return system
    if system is not None:
        return system_named(system)
    if data is not None and data.system is not None:
        return system_of(data)
    if model.system is None:
        raise FarstepError("the model does not say of what system it is; name one.")
    return system_named(named_by_file(model.system))


def _missed_ends(system: System, data: Episodes) -> int:
    """Return how many recorded ends of the task are none by what is known of the system."""
    assert system.terminated is not None
    before, after = data.transitions()
    last = (data.step_offsets[1:] - 1)[data.terminated]
    if not len(last):
        return 0
    given = (jnp.asarray(one[last], jnp.float32) for one in (before, data.actions, after))
    return int((~jax.vmap(system.terminated)(*given)).sum())


def _world(model: Model, system: System, data: Episodes | None, config: ImagineConfig) -> World:
    dynamics = _with_choice(model.dynamics, config.choice)
    config.check_members(dynamics.size if isinstance(dynamics, Ensemble) else 1)
    if config.beyond == "end" and data is None:
        raise FarstepError("beyond=end goes by the lowest reward of the data; give data.")
    low, high, center, scale = _ranges(model, data, config.bounds)
    worst, reward_range = _rewards(system, data)
    return World(
        dynamics=dynamics,
        rewarding=_rewarding(model, system, config),
        starts=_starts(data, config),
        low=low,
        high=high,
        center=center,
        scale=scale,
        worst=worst,
        reward_range=reward_range,
        familiarity=None if data is None else Familiarity.of(data),
        ending=system.terminated or never,
        resetting=system.reset,
        signals=dataclasses.replace(
            model.signals,
            action_low=system.signals.action_low,
            action_high=system.signals.action_high,
        ),
        angles=system.angles if config.circles else (),
        episode_steps=min(config.rollout or system.episode_steps, system.episode_steps),
        propagation=config.propagation,
        ends_beyond=config.beyond == "end",
        noise=float(config.noise),
        penalty=float(config.penalty),
        uncertainty_of=config.uncertainty,
    )


def check_alike(what: str, signals: Signals, system: System) -> None:
    """Fail if signals are not a system's: other numbers, or other names where both have some."""
    for kind in ("state", "action"):
        ours, theirs = (getattr(s, f"{kind}_names") for s in (signals, system.signals))
        plain = [getattr(Signals.unnamed(len(n), len(n)), f"{kind}_names") for n in (ours, theirs)]
        named = ours != plain[0] and theirs != plain[1]
        if len(ours) != len(theirs) or (named and ours != theirs):
            raise FarstepError(
                f"the {what} has {kind}s ({', '.join(ours)}), system '{system.name}' has "
                f"({', '.join(theirs)}); they are not of one system."
            )
    signals.check_units(system.signals, f"the {what}", f"system '{system.name}'")
    if not signals.same_interval(system.signals):
        warnings.warn(
            f"a step of the {what} is {signals.interval:g} s, one of system '{system.name}' "
            f"{system.signals.interval:g} s; what is known of the system must hold for the first.",
            DataWarning,
            stacklevel=3,
        )


def _check_model(model: Model) -> None:
    if model.dynamics.stride != 1:
        raise FarstepError(
            f"the model spans {model.dynamics.stride} steps at once; an agent needs a model of one."
        )


def _with_choice(dynamics: Dynamics, choice: Choice | None) -> Dynamics:
    if choice is None or not isinstance(dynamics, Ensemble):
        return dynamics
    return dataclasses.replace(dynamics, choice=choice)


def _rewarding(model: Model, system: System, config: ImagineConfig) -> Rewarding:
    known, learned = system.reward, model.reward
    if config.reward == "learned" or (config.reward is None and known is None):
        if learned is None:
            unknown = "" if known else f"the reward of system '{system.name}' is not known, and "
            raise FarstepError(
                f"{unknown}the model has learned none; fit with learn_reward=True "
                "(--learn-reward) on data with rewards, or give the system a reward function."
            )
        return learned
    assert known is not None, "checked before"
    return KnownReward(known)


def _rewards(system: System, data: Episodes | None) -> tuple[Any, Any]:
    """Return the lowest reward of the data, recorded or known, and the range up to the highest.

    Without data they are 0 and 1; a range of nothing is 1 as well.
    """
    rewards = None if data is None else data.rewards
    if data is not None and rewards is None and system.reward is not None:
        rewards = system.rewards_of(data)
    worst = 0.0 if rewards is None else float(rewards.min())
    between = 1.0 if rewards is None else float(rewards.max()) - worst
    return jnp.float32(worst), jnp.float32(between or 1.0)


def _starts(data: Episodes | None, config: ImagineConfig) -> StartStates | None:
    if config.starts == "reset":
        return None
    if data is None:
        raise FarstepError(f"starts={config.starts} needs data to start from.")
    if config.starts == "first":
        return StartStates.of(data.states[data.row_offsets[:-1]])
    over = data.row_offsets[1:][data.terminated] - 1  # nothing follows where a task ended
    return StartStates.of(np.delete(data.states, over, axis=0))


def _ranges(model: Model, data: Episodes | None, bounds: float | None) -> tuple[Any, ...]:
    """Return lowest and highest states, widened, their means and their standard deviations."""
    scaling = _scaling(model.dynamics)
    if data is not None:
        states = data.states.astype(np.float64)
        low, high = states.min(axis=0), states.max(axis=0)
        mean, std = states.mean(axis=0), deviation(states)
    elif scaling is not None:
        low, high = scaling.state_low, scaling.state_high
        mean, std = scaling.state_mean, scaling.state_std
    elif bounds is not None:
        raise FarstepError("bounds need data, or a model that knows its training range.")
    else:
        low = high = mean = np.zeros(model.signals.num_states)
        std = np.ones(model.signals.num_states)
    margin = np.inf if bounds is None else bounds * (np.asarray(high) - np.asarray(low))
    found = (low - margin, high + margin, mean, std)
    return tuple(jnp.asarray(values, jnp.float32) for values in found)


def _scaling(dynamics: Dynamics) -> Scaling | None:
    if isinstance(dynamics, Ensemble):
        inner = dynamics.members
        if isinstance(inner, NetworkDynamics):
            return Scaling(*(leaf[0] for leaf in vars(inner.scaling).values()))
    return dynamics.scaling if isinstance(dynamics, NetworkDynamics) else None
