"""The settings of an agent: one flat list that the API, the command line and files share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from farstep.errors import FarstepError, did_you_mean
from farstep.fields import check_least, check_word, check_words, native, replaced

AGENTS = ("sac", "sb3:SAC", "sb3:TD3", "sb3:DDPG", "sb3:PPO", "sb3:A2C")
"""Ours, and those of Stable-Baselines3 whose actions are continuous."""
KEEP_BEST = "keep=best is for the built-in agent inside a model; choose keep=last."
ONLINE_STEPS = 50_000
"""What a real system is trained for unless something else is said."""
_TAKE_ALL = ("sac", "sb3:SAC")
_OWN = ("average",)
"""What only ours goes by."""
_TAKEN = ("agent", "steps", "num_envs", "gamma", "keep", "eval_every", "eval_episodes")
"""Settings that the others take; for the rest they keep Stable-Baselines3's own."""


@dataclass(frozen=True)
class AgentConfig:
    """Everything about the agent but where it acts. Names and defaults as in Stable-Baselines3."""

    agent: str = "sac"
    """sac is compiled with the imagined system; sb3:SAC, sb3:PPO … are Stable-Baselines3's."""
    steps: int = 500_000
    """Steps to act, of all systems together."""
    num_envs: int = 1
    """Systems that are stepped side by side."""
    gradient_steps: int = 1
    """Updates after each step of all systems."""
    learning_starts: int = 100
    """Steps before the first update: of random actions, or of the agent that it goes on from."""
    batch_size: int = 256
    """Transitions in one update."""
    buffer_size: int = 1_000_000
    """Transitions that are remembered."""
    learning_rate: float = 3e-4
    """Of Adam, for actor, critics and temperature."""
    gamma: float = 0.99
    """Discount of later rewards."""
    tau: float = 0.005
    """How far the target critics follow at each update."""
    ent_coef: float | None = None
    """Temperature of the entropy; None learns it."""
    target_entropy: float | None = None
    """What a learned temperature aims at; None is minus the number of actions."""
    net_arch: tuple[int, ...] = (256, 256)
    """Units of the hidden layers, of actor and critics."""
    average: float | None = None
    """Decay of a running average of the actor's weights (0.999): the policy that is evaluated and
    kept. The actor itself goes on exploring."""
    keep: Literal["last", "best"] = "last"
    """The policy that training inside a model gives: the last, or that of the highest imagined
    return (less the penalty, if there is one) of all evaluations, that of the agent it started
    from included."""
    eval_every: int = 10_000
    """Steps between evaluations on the real system, and between checkpoints."""
    eval_episodes: int = 1
    """Real episodes of an evaluation."""

    def next_evaluation(self, done: int) -> int:
        """Return the step at which the one after `done` steps is due, at most the last."""
        return min((done // self.eval_every + 1) * self.eval_every, self.steps)

    def check(self) -> None:
        """Fail with one line if a setting makes no sense."""
        least = {
            "steps": 1, "num_envs": 1, "gradient_steps": 0, "learning_starts": 1, "batch_size": 1,
            "buffer_size": 1, "eval_every": 1, "eval_episodes": 0,
        }  # fmt: skip
        check_least(least, vars(self))
        check_words(AgentConfig, vars(self))
        if self.agent not in AGENTS:
            raise FarstepError(
                f"there is no agent '{self.agent}' for continuous actions. "
                f"{did_you_mean(self.agent, AGENTS)}"
            )
        if self.learning_starts >= self.steps:
            raise FarstepError(
                f"learning starts after {self.learning_starts} steps, but only {self.steps} are "
                "taken; take more steps, or lower learning_starts."
            )
        if not self.net_arch or any(units < 1 for units in self.net_arch):
            raise FarstepError(f"net_arch needs at least one layer of units, not {self.net_arch}.")
        if not 0 < self.learning_rate < float("inf"):
            raise FarstepError(f"learning_rate must be above 0, not {self.learning_rate:g}.")
        for name in ("gamma", "tau"):
            if not 0 <= getattr(self, name) <= 1:
                raise FarstepError(f"{name} must lie in [0, 1], not {getattr(self, name):g}.")
        if self.average is not None and not 0 < self.average < 1:
            raise FarstepError(f"average must lie between 0 and 1, not {self.average:g}.")
        if self.ent_coef is not None and not 0 <= self.ent_coef < float("inf"):
            raise FarstepError(f"ent_coef must be 0 or more, not {self.ent_coef:g}.")
        if self.keep == "best" and self.agent != "sac":
            raise FarstepError(KEEP_BEST)
        usual = vars(AgentConfig)
        _check_taken(self.agent, [n for n, v in vars(self).items() if v != usual[n]])


def takes(agent: str, name: str) -> bool:
    """Return whether an agent goes by a setting."""
    return name in _TAKEN or agent == "sac" or (agent in _TAKE_ALL and name not in _OWN)


def _check_taken(agent: str, names: Iterable[str]) -> None:
    """Fail if an agent does not go by one of these settings: it would be stored and not be true."""
    for name in names:
        if not takes(agent, name):
            whose = "has no" if name in _OWN else "keeps Stable-Baselines3's own"
            raise FarstepError(f"{agent} {whose} {name}; leave that out.")


_FAST = AgentConfig(
    steps=300_000,
    num_envs=10,
    gradient_steps=2,
    learning_rate=1e-3,
    gamma=0.995,
    net_arch=(64, 64),
    average=0.999,
    keep="best",
)
PRESETS = {
    "paper": AgentConfig(),
    "fast": _FAST,
    "thorough": replace(_FAST, steps=600_000, gamma=0.99, tau=0.01),
    "brief": replace(_FAST, steps=140_000, learning_starts=20_000, eval_every=5_000),
}
"""`paper`: one system, one update a step. `fast`: ten systems, two updates for ten steps of a small
network; it learns fast and forgets now and then, so its running average is what is evaluated, and
the one that the model thinks best is kept.
`thorough`: the same for twice as long, with targets that follow faster and a smaller discount: it
forgets less, and is the agent of pure-batch RL.
`brief`: the same with 24 000 updates, for an agent that goes on after each real episode."""


def agent_config(preset: str = "paper", **settings: Any) -> AgentConfig:
    """Return a preset with some of its fields replaced.

    Others' agents have of a preset what they go by, and keep their last policy. Where steps are
    given, learning starts after a seventh of them at the latest.
    """
    check_word("preset", preset, PRESETS)
    base, agent = PRESETS[preset], settings.get("agent", "sac")
    if agent != "sac":
        used = {n: v for n, v in vars(base).items() if takes(agent, n)}
        base = AgentConfig(**{**used, "keep": "last"})
    steps = native(settings.get("steps"))
    if isinstance(steps, int) and takes(agent, "learning_starts"):
        base = replace(base, learning_starts=min(base.learning_starts, max(steps // 7, 1)))
    return configured(base, settings)


def configured(config: AgentConfig, settings: Mapping[str, Any]) -> AgentConfig:
    """Return settings with some replaced, checked; `auto` is Stable-Baselines3's word for None."""
    automatic = ("ent_coef", "target_entropy")
    plain = {n: None if n in automatic and v == "auto" else v for n, v in settings.items()}
    chosen = replaced(config, plain)
    chosen.check()
    _check_taken(chosen.agent, settings)  # also those that were given as they are by default
    return chosen
