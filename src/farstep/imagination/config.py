"""How a model is imagined in: one flat list that the API, the command line and files share."""

from dataclasses import dataclass
from typing import Literal

from farstep.choices import Beyond, Choice, Propagation, Starts, Uncertainty
from farstep.errors import FarstepError
from farstep.fields import check_words
from farstep.systems.system import System


@dataclass(frozen=True)
class ImagineConfig:
    """Everything about an imagined system but the model, the system and the data."""

    starts: Starts = "first"
    """Where episodes start: the data's first states, any of its states, or the system's reset."""
    rollout: int | None = None
    """Steps of an episode, at most the system's, which None is. Short ones from any state branch
    off the data."""
    propagation: Propagation = "mean"
    """The next state is the model's mean, or a sample."""
    choice: Choice | None = None
    """Of an ensemble: the mean of all, a random one a step, or one a rollout; None is its own."""
    reward: Literal["known", "learned"] | None = None
    """The system's reward, or the model's; None is the system's if it is known."""
    penalty: float = 0.0
    """How much of the model's uncertainty is taken off the reward, as in MOPO; in units of the
    range of the data's rewards (1 without data), which is also the most that a step loses."""
    uncertainty: Uncertainty = "disagreement"
    """What the penalty goes by; in units of the states' standard deviations."""
    bounds: float | None = 0.0
    """Keep states within the training range, widened by this share of it; None lets them go."""
    beyond: Beyond = "clip"
    """What leaves the bounds is put back, or ends the episode at a loss, the data's lowest reward
    200 times (nothing, if none is negative), and the penalty of that step as often: an agent then
    gains nothing from a wall that is not there. It is meant for discounts up to 0.995."""
    noise: float = 0.0
    """Noise of the sensors that an agent sees states through, in standard deviations that the model
    predicts one step ahead. Where only noise made these, the sensors' is 0.7 of them. The built-in
    agent's critics are given the states."""
    circles: bool = True
    """Keep the system's (cosine, sine) pairs on the circle, from which models stray."""

    def check(self) -> None:
        """Fail with one line if a setting makes no sense."""
        check_words(ImagineConfig, vars(self))
        if self.rollout is not None and not 1 <= self.rollout < 2**31:
            raise FarstepError(f"rollout must be at least 1 step, not {self.rollout}.")
        for name in ("penalty", "bounds", "noise"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise FarstepError(f"{name} must be 0 or more, not {value:g}.")
        if self.bounds is None and self.beyond == "end":
            raise FarstepError(
                "without bounds nothing is beyond them; give bounds, or choose beyond=clip."
            )

    def check_system(self, system: System) -> None:
        """Fail if what is asked for is not known of the system."""
        if self.reward == "known" and system.reward is None:
            raise FarstepError(f"the reward of system '{system.name}' is not known.")
        if self.starts == "reset" and system.reset is None:
            raise FarstepError(
                f"system '{system.name}' has no reset function; give data to start from."
            )

    def check_members(self, members: int) -> None:
        """Fail if what is asked for needs more members than the model has."""
        if self.choice is not None and members == 1:
            raise FarstepError("choice is of ensembles; this model is a single one.")
        if self.penalty and self.uncertainty == "disagreement" and members == 1:
            raise FarstepError(
                "only an ensemble disagrees with itself; fit one (members=5), or choose "
                "uncertainty=std."
            )
