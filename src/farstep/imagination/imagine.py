"""imagine: a model and a system in, an environment out."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from farstep.choices import Choice
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.dynamics.reward import KnownReward
from farstep.dynamics.scaling import Scaling
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.fields import replaced
from farstep.imagination.config import ImagineConfig
from farstep.imagination.familiarity import Familiarity
from farstep.imagination.world import Rewarding, World
from farstep.model import Model
from farstep.systems.registry import system as system_named
from farstep.systems.system import System, never

if TYPE_CHECKING:
    from farstep.imagination.gymnasium_env import ImaginedEnv, ImaginedVectorEnv
    from farstep.imagination.sb3_env import ImaginedVecEnv


@dataclass(frozen=True, eq=False)
class Imagination:
    """A learned model as an environment, for agents of any kind."""

    world: World
    """The pure part: reset, step, reward and done as functions of arrays."""
    system: System
    config: ImagineConfig
    model: Model

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
        try:
            from farstep.imagination.sb3_env import ImaginedVecEnv
        except ModuleNotFoundError as error:
            raise FarstepError(
                "Stable-Baselines3 is not installed; pip install 'farstep[sb3]'."
            ) from error
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
    config = replaced(config or ImagineConfig(), settings)
    if data is None and "starts" not in settings and config.starts == "first":
        config = dataclasses.replace(config, starts="reset")
    config.check()
    known = _system(model, system)
    _check_signals(model, known, data)
    dynamics = _with_choice(model.dynamics, config.member)
    if config.penalty and config.uncertainty == "disagreement" and not _is_ensemble(dynamics):
        raise FarstepError(
            "only an ensemble disagrees with itself; fit one (members=5), or choose "
            "uncertainty=std."
        )
    low, high, scale = _ranges(model, data, config.bounds)
    world = World(
        dynamics=dynamics,
        rewarding=_rewarding(model, known, config),
        starts=_starts(known, data, config),
        low=low,
        high=high,
        scale=scale,
        familiarity=None if data is None else Familiarity.of(data),
        ending=known.terminated or never,
        resetting=known.reset,
        signals=dataclasses.replace(
            model.signals,
            action_low=known.signals.action_low,
            action_high=known.signals.action_high,
        ),
        episode_steps=config.rollout or known.episode_steps,
        transitions=config.transitions,
        penalty=float(config.penalty),
        uncertainty_of=config.uncertainty,
    )
    return Imagination(world, known, config, model)


def _system(model: Model, system: System | str | None) -> System:
    if system is None and model.system is None:
        raise FarstepError("the model does not say of what system it is; name one.")
    chosen = model.system if system is None else system
    return system_named(chosen) if isinstance(chosen, str) else chosen  # pyright: ignore[reportReturnType]


def _check_signals(model: Model, system: System, data: Episodes | None) -> None:
    sizes = {"model": model.signals, f"system '{system.name}'": system.signals}
    if data is not None:
        sizes["data"] = data.signals
    for what, signals in sizes.items():
        for kind in ("num_states", "num_actions"):
            if getattr(signals, kind) != getattr(model.signals, kind):
                raise FarstepError(
                    f"the {what} has {getattr(signals, kind)} {kind[4:]}, the model "
                    f"{getattr(model.signals, kind)}; they are not of one system."
                )
    if model.dynamics.stride != 1:
        raise FarstepError(
            f"the model spans {model.dynamics.stride} steps at once; an agent needs a model of one."
        )
    bounds = [*system.signals.action_low, *system.signals.action_high]
    if not np.isfinite(bounds).all():
        raise FarstepError(
            f"an agent needs bounds on every action; system '{system.name}' has none."
        )


def _with_choice(dynamics: Dynamics, choice: Choice | None) -> Dynamics:
    if choice is None:
        return dynamics
    if not isinstance(dynamics, Ensemble):
        raise FarstepError("member is of ensembles; this model is a single one.")
    return dataclasses.replace(dynamics, choice=choice)


def _is_ensemble(dynamics: Dynamics) -> bool:
    return isinstance(dynamics, Ensemble)


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
    if known is None:
        raise FarstepError(f"the reward of system '{system.name}' is not known.")
    return KnownReward(known)


def _starts(system: System, data: Episodes | None, config: ImagineConfig) -> Any:
    if config.starts == "reset":
        if system.reset is None:
            raise FarstepError(
                f"system '{system.name}' has no reset function; give data to start from."
            )
        return None
    if data is None:
        raise FarstepError(f"starts={config.starts} needs data to start from.")
    rows = data.row_offsets[:-1] if config.starts == "first" else slice(None)
    return jnp.asarray(data.states[rows], jnp.float32)


def _ranges(model: Model, data: Episodes | None, bounds: float | None) -> tuple[Any, Any, Any]:
    """Return lowest and highest states, widened, and their standard deviations."""
    scaling = _scaling(model.dynamics)
    if data is not None:
        states = data.states.astype(np.float64)
        low, high, std = states.min(axis=0), states.max(axis=0), states.std(axis=0)
    elif scaling is not None:
        low, high, std = scaling.state_low, scaling.state_high, scaling.state_std
    elif bounds is not None:
        raise FarstepError("bounds need data, or a model that knows its training range.")
    else:
        low = high = np.zeros(model.signals.num_states)
        std = np.ones(model.signals.num_states)
    margin = np.inf if bounds is None else bounds * (np.asarray(high) - np.asarray(low))
    std = np.where(np.asarray(std) > 0, std, 1.0)
    low, high, std = (jnp.asarray(v, jnp.float32) for v in (low - margin, high + margin, std))
    return low, high, std


def _scaling(dynamics: Dynamics) -> Scaling | None:
    if isinstance(dynamics, Ensemble):
        inner = dynamics.members
        if isinstance(inner, NetworkDynamics):
            return Scaling(*(leaf[0] for leaf in vars(inner.scaling).values()))
    return dynamics.scaling if isinstance(dynamics, NetworkDynamics) else None
