"""The settings of an agent, shared by Python, the command line and files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from farstep.errors import FarstepError
from farstep.settings import check_choice, check_fields, chosen

ALGORITHMS = ("sac", "sb3:SAC", "sb3:TD3", "sb3:DDPG", "sb3:PPO", "sb3:A2C")
"""The built-in one, and those of Stable-Baselines3 for continuous actions."""
_USED_BY_ALL = ("algorithm", "steps", "num_envs", "gamma", "eval_every", "eval_episodes")
"""What every algorithm of Stable-Baselines3 takes; for the rest they keep their own defaults."""
_BUILT_IN_ONLY = ("ema_decay", "keep")
_COMPILED = (
    *("num_envs", "gradient_steps", "batch_size", "learning_rate", "gamma", "tau", "ent_coef"),
    *("target_entropy", "net_arch", "ema_decay"),
)
"""What the compiled programs of the built-in agent depend on, beside the shapes of arrays."""


@dataclass(frozen=True)
class AgentConfig:
    """Everything about an agent but its environment; names and defaults of Stable-Baselines3."""

    algorithm: str = "sac"
    """sac is compiled with the model environment; sb3:SAC, sb3:PPO … are Stable-Baselines3's."""
    steps: int = 500_000
    """Environment steps, of all environments together."""
    num_envs: int = 1
    """Environments that are stepped side by side."""
    gradient_steps: int = 1
    """Updates after each step of all environments."""
    learning_starts: int = 100
    """Steps before the first update, at most a seventh of all. Their actions are random, or of the
    agent that training starts from."""
    batch_size: int = 256
    """Transitions in one update."""
    buffer_size: int = 1_000_000
    """Transitions in the replay buffer."""
    learning_rate: float = 3e-4
    """Of Adam, for actor, critics and temperature."""
    gamma: float = 0.99
    """Discount factor."""
    tau: float = 0.005
    """How far the target critics move at each update."""
    ent_coef: float | None = None
    """Temperature of the entropy; None learns it."""
    target_entropy: float | None = None
    """Target of a learned temperature; None is minus the number of actions."""
    net_arch: tuple[int, ...] = (256, 256)
    """Units of the hidden layers, of actor and critics."""
    ema_decay: float | None = None
    """Decay of a running average of the actor's weights (0.999), which is evaluated and kept."""
    keep: Literal["last", "best"] = "last"
    """The policy that training in a model returns: the last, or the one with the highest penalised
    imagined return of all evaluations."""
    eval_every: int = 10_000
    """Steps between evaluations, and between checkpoints."""
    eval_episodes: int = 1
    """Episodes on the real system at each evaluation."""

    def __post_init__(self) -> None:
        at_least = {
            "steps": 2, "num_envs": 1, "gradient_steps": 0, "learning_starts": 1, "batch_size": 1,
            "buffer_size": 1, "eval_every": 1, "eval_episodes": 0, "ent_coef": 0,
        }  # fmt: skip
        check_fields(self, at_least, ("learning_rate",), ("gamma", "tau", "ema_decay"))
        check_choice("algorithm for continuous actions", self.algorithm, ALGORITHMS)
        if self.ema_decay in (0, 1):
            raise FarstepError(f"ema_decay must be between 0 and 1, not {self.ema_decay:g}.")
        if not self.net_arch or any(units < 1 for units in self.net_arch):
            raise FarstepError(f"net_arch needs at least one layer of units, not {self.net_arch}.")
        if self.algorithm != "sac":  # so that only settings in use are stored
            for name in self.__dataclass_fields__:
                if not self.uses(name):
                    object.__setattr__(self, name, getattr(AgentConfig, name))

    def uses(self, name: str) -> bool:
        """Return whether the algorithm uses a setting; the others are reset to their defaults."""
        if self.algorithm == "sac" or name in _USED_BY_ALL:
            return True
        return self.algorithm == "sb3:SAC" and name not in _BUILT_IN_ONLY

    @property
    def compiled(self) -> "AgentConfig":
        """The same for compiled programs: trainings that differ in the rest share them."""
        return AgentConfig(**{name: getattr(self, name) for name in _COMPILED})

    @property
    def warm_up(self) -> int:
        """Steps before the first update: `learning_starts`, at most a seventh of all steps."""
        return min(self.learning_starts, max(self.steps // 7, 1))

    def next_evaluation(self, done: int) -> int:
        """Return the step at which the one after `done` steps is due, at most the last."""
        return min((done // self.eval_every + 1) * self.eval_every, self.steps)


_DEFAULT = AgentConfig(
    steps=300_000,
    num_envs=10,
    gradient_steps=2,
    learning_rate=1e-3,
    gamma=0.995,
    net_arch=(64, 64),
    ema_decay=0.999,
    keep="best",
)
PRESETS = {
    "default": _DEFAULT,
    "fast": replace(_DEFAULT, steps=140_000, learning_starts=20_000, eval_every=5_000),
    "long": replace(_DEFAULT, steps=600_000, gamma=0.99, tau=0.01),
    "paper": AgentConfig(),
    "online": AgentConfig(steps=50_000),
}
"""`default`: ten environments, small networks, 60 000 updates, a minute or two. `fast`: 24 000
updates, for agents that continue after each real episode. `long`: 120 000 updates, for offline RL.
`paper`: Stable-Baselines3's defaults for 500 000 steps, over an hour. `online`: the same for 50 000
steps of a real system."""
AgentPreset = Literal["default", "fast", "long", "paper", "online"]


def agent_config(
    config: AgentConfig | str | Mapping[str, Any] | None = None,
    default: str = "default",
    **settings: Any,
) -> AgentConfig:
    """Return the configuration that a user means.

    Fail if the algorithm does not use a setting that is given by name.

    Args:
        config: A configuration, a preset's name, settings by name that may contain a `preset`, or
            None for the default preset.
        default: The preset to use where none is named.
        **settings: Fields that replace those of `config`.
    """
    found = chosen(config, PRESETS, default, settings)
    for name in (*(config if isinstance(config, Mapping) else ()), *settings):
        if name != "preset" and not found.uses(name):
            raise FarstepError(f"{found.algorithm} does not use {name}; leave it out.")
    return found
