"""ModelEnv: a learned model as an environment."""

import dataclasses
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from farstep.data.episodes import Episodes, check_episodes
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError
from farstep.model_env.config import PRESETS, ModelEnvConfig
from farstep.model_env.out_of_bounds import Bounds, DataDistance, ObservationStatistics
from farstep.model_env.pure_env import InitialStates, PureEnv
from farstep.model_env.reward import RewardStatistics, reward_function
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.runtime.compilation import check_precision
from farstep.runtime.machine import require
from farstep.settings import chosen
from farstep.systems.registry import get_system, named_by_file, system_of
from farstep.systems.system import System, never

if TYPE_CHECKING:
    from farstep.model_env.gymnasium_env import ModelGymnasiumEnv, ModelVectorEnv
    from farstep.model_env.sb3_env import ModelSB3VecEnv


class ModelEnv:
    """A learned model as an environment, for agents of any kind.

    `train_agent` and planners use `pure`, a pytree of pure functions. `gymnasium()`,
    `vector(num_envs)` and `sb3(num_envs)` return environments for other libraries.
    """

    def __init__(
        self,
        model: Model,
        system: System | str | None = None,
        data: Episodes | None = None,
        config: ModelEnvConfig | str | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        """Join a model with the known parts of its system.

        Args:
            model: A one-step model, a single one or an ensemble.
            system: The system or its name; by default that of the data, or of the model.
            data: The training data. Episodes start from its observations, and bounds and distances
                are measured from it. Without data, episodes start from the system's reset, and
                the bounds are the training range that the model stores.
            config: A configuration, the name of a preset (`default`, `branched`, `ensemble` or
                `offline`), or settings by name.
            **settings: Fields of `ModelEnvConfig` that replace those of `config`, such as
                `uncertainty_penalty=1.0`.
        """
        check_precision()
        if not isinstance(model, Model):
            raise FarstepError(
                f"model must be a farstep.Model, not {type(model).__name__}; use fit or load_model."
            )
        if data is not None:
            check_episodes(data)
        found = chosen(config, PRESETS, "default", settings)
        given = {*settings, *(config if isinstance(config, Mapping) else ())}
        if data is None and "initial_states" not in given and found.initial_states == "first":
            found = dataclasses.replace(found, initial_states="reset")
        self.model, self.config = model, found
        self.system = _system(model, system, data)
        check_signals("model", model.signals, self.system)
        check_system(found, self.system, data)
        check_ensemble(found, model.dynamics.size if isinstance(model.dynamics, Ensemble) else 1)
        if model.dynamics.fixed_horizon != 1:
            raise FarstepError(
                f"the model predicts {model.dynamics.fixed_horizon} steps at once; a model "
                "environment needs fixed_horizon=1."
            )
        self.pure: PureEnv = _pure_env(model, self.system, data, found)
        self._first = None if data is None else InitialStates.of(data)
        _warn_of_terminations(self.system, data)

    def __repr__(self) -> str:
        return f"ModelEnv of {self.system.name}: {self.config}"

    @property
    def evaluation_env(self) -> PureEnv:
        """The pure environment with full episodes from first observations and without a penalty.

        An agent's imagined return is measured in it. Episodes terminate out of bounds as in
        `pure`.
        """
        return dataclasses.replace(
            self.pure,
            initial_states=self._first,
            max_episode_steps=self.system.max_episode_steps,
            uncertainty_penalty=0.0,
        )

    @property
    def penalised_env(self) -> PureEnv:
        """The evaluation environment with the uncertainty penalty; `keep="best"` selects by it."""
        penalty = self.pure.uncertainty_penalty
        return dataclasses.replace(self.evaluation_env, uncertainty_penalty=penalty)

    def gymnasium(self) -> "ModelGymnasiumEnv":
        """Return a Gymnasium `Env`."""
        from farstep.model_env.gymnasium_env import ModelGymnasiumEnv

        return ModelGymnasiumEnv(self.pure)

    def vector(self, num_envs: int) -> "ModelVectorEnv":
        """Return a Gymnasium `VectorEnv`, stepped in one compiled call."""
        from farstep.model_env.gymnasium_env import ModelVectorEnv

        return ModelVectorEnv(self.pure, num_envs)

    def sb3(self, num_envs: int = 1) -> "ModelSB3VecEnv":
        """Return a Stable-Baselines3 `VecEnv`, stepped in one compiled call."""
        require("sb3")
        from farstep.model_env.sb3_env import ModelSB3VecEnv

        return ModelSB3VecEnv(self.pure, num_envs)


def check_system(config: ModelEnvConfig, system: System, data: Episodes | None = None) -> None:
    """Fail if the system lacks a part that a model environment needs. This takes no model."""
    if config.reward == "known" and system.reward is None:
        raise FarstepError(f"reward='known': system '{system.name}' has no reward function.")
    if config.initial_states == "reset" and system.reset is None:
        raise FarstepError(
            f"initial_states='reset': system '{system.name}' has no reset function; pass "
            "data=train and choose 'first' or 'any'."
        )
    if data is not None:
        check_signals("data", data.signals, system)
    elif config.out_of_bounds == "terminate":
        raise FarstepError("out_of_bounds='terminate' needs data; pass data=train.")
    system.check_bounded()
    if data is not None:
        system.check_actions(data)
    system.check_known_parts()


def check_ensemble(config: ModelEnvConfig, ensemble_size: int) -> None:
    """Fail if the settings need an ensemble and the model is a single one."""
    if config.ensemble_mode is not None and ensemble_size == 1:
        raise FarstepError(
            f"ensemble_mode='{config.ensemble_mode}' needs an ensemble; fit one (ensemble_size=5)."
        )
    if config.uncertainty_penalty and config.uncertainty == "disagreement" and ensemble_size == 1:
        raise FarstepError(
            "uncertainty='disagreement' needs an ensemble; fit one (ensemble_size=5), or choose "
            "'std'."
        )


def check_signals(owner: str, signals: Signals, system: System) -> None:
    """Fail if signals differ from a system's in number, in units, or in names where both have some.

    Args:
        owner: Whose signals they are, `model` or `data`, for the message.
        signals: The signals.
        system: The system.
    """
    for kind in ("observation", "action"):
        ours, theirs = (getattr(s, f"{kind}_names") for s in (signals, system.signals))
        plain = [getattr(Signals.unnamed(len(n), len(n)), f"{kind}_names") for n in (ours, theirs)]
        named = ours != plain[0] and theirs != plain[1]
        if len(ours) != len(theirs) or (named and ours != theirs):
            raise FarstepError(
                f"the {owner} has {kind}s ({', '.join(ours)}), system '{system.name}' has "
                f"({', '.join(theirs)}); they must be of one system."
            )
    signals.check_units(system.signals, f"the {owner}", f"system '{system.name}'")
    if not signals.same_interval(system.signals):
        warnings.warn(
            f"the {owner} has steps of {signals.interval:g} s, system '{system.name}' of "
            f"{system.signals.interval:g} s; its reward and end must hold for the {owner}'s steps.",
            DataWarning,
            stacklevel=3,
        )


def _system(model: Model, system: System | str | None, data: Episodes | None) -> System:
    if isinstance(system, System):
        return system
    if system is not None:
        return get_system(system)
    if data is not None and data.system is not None:
        return system_of(data)
    if model.system is None:
        raise FarstepError("the model does not name its system; pass system=… (--system).")
    return get_system(named_by_file(model.system))


def _pure_env(
    model: Model, system: System, data: Episodes | None, config: ModelEnvConfig
) -> PureEnv:
    dynamics = model.dynamics
    if isinstance(dynamics, Ensemble) and config.ensemble_mode is not None:
        dynamics = dataclasses.replace(dynamics, ensemble_mode=config.ensemble_mode)
    statistics = ObservationStatistics.of(model, data)
    if statistics is None and config.bounds is not None:
        raise FarstepError(
            "bounds need data, or a model that stores its training range; pass data=train, or "
            "bounds=None."
        )
    statistics = statistics or ObservationStatistics.unknown(model.signals.num_observations)
    source, initial_states = config.initial_states, None
    if source != "reset":
        if data is None:
            raise FarstepError(f"initial_states='{source}' needs data; pass data=train.")
        initial_states = InitialStates.of(data, source)
    longest = system.max_episode_steps
    return PureEnv(
        dynamics=dynamics,
        reward_function=reward_function(model, system, config.reward),
        initial_states=initial_states,
        bounds=Bounds.of(statistics, config.bounds, config.out_of_bounds),
        observation_mean=jnp.asarray(statistics.mean, jnp.float32),
        observation_std=jnp.asarray(statistics.std, jnp.float32),
        rewards=RewardStatistics.of(data, system),
        data_distance=None if data is None else DataDistance.of(data),
        terminated=system.terminated or never,
        reset_function=system.reset,
        signals=dataclasses.replace(
            model.signals,
            action_low=system.signals.action_low,
            action_high=system.signals.action_high,
        ),
        angles=system.angles if config.project_angles else (),
        max_episode_steps=min(config.max_episode_steps or longest, longest),
        propagation=config.propagation,
        observation_noise=float(config.observation_noise),
        uncertainty_penalty=float(config.uncertainty_penalty),
        uncertainty_kind=config.uncertainty,
    )


def _warn_of_terminations(system: System, data: Episodes | None) -> None:
    """Warn if episodes of the model environment do not terminate where those of the data do."""
    text = ""
    if system.terminated is None:
        text = (
            f"system '{system.name}' has no `terminated` function: episodes of the model "
            "environment end by time alone. Add the function to its System."
        )
    elif data is not None and data.terminated.any():
        before, after = data.transitions()
        last = (data.step_offsets[1:] - 1)[data.terminated]
        given = (jnp.asarray(one[last], jnp.float32) for one in (before, data.actions, after))
        if missed := int((~jax.vmap(system.terminated)(*given)).sum()):
            text = (
                f"{missed} of {len(last)} recorded terminations are none by the `terminated` "
                f"function of system '{system.name}'; the model environment does not end episodes "
                "there."
            )
    if text:
        warnings.warn(text, DataWarning, stacklevel=3)
