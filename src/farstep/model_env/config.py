"""The settings of a model environment, shared by Python, the command line and files."""

from dataclasses import dataclass, replace
from typing import Literal

from farstep.choices import EnsembleMode, InitialStatesFrom, OutOfBounds, Propagation, Uncertainty
from farstep.errors import FarstepError
from farstep.settings import check_fields


@dataclass(frozen=True)
class ModelEnvConfig:
    """Everything about a model environment but the model, the system and the data."""

    initial_states: InitialStatesFrom = "first"
    """Episodes start from the data's first observations, any observation, or the system's reset."""
    max_episode_steps: int | None = None
    """Steps of an episode, at most the system's, which None takes. Short episodes from any recorded
    observation branch off the data."""
    propagation: Propagation = "mean"
    """The next state is the model's mean, or a sample."""
    ensemble_mode: EnsembleMode | None = None
    """Predict with the mean of an ensemble, a random member each step, or one for each episode.
    None takes the model's own mode."""
    reward: Literal["known", "learned"] | None = None
    """The system's reward, or the model's; None takes the system's if it is known."""
    uncertainty_penalty: float = 0.0
    """Subtract this times the model's uncertainty from the reward, as in MOPO; in units of the
    range of the data's rewards (1 without data), which is also the largest deduction of a step."""
    uncertainty: Uncertainty = "disagreement"
    """What the penalty measures, in standard deviations of the observations."""
    bounds: float | None = 0.0
    """Keep states within the training range, widened by this share of it; None for no bounds."""
    out_of_bounds: OutOfBounds = "clip"
    """clip moves a state back to the bounds. terminate ends the episode; the last reward is
    200 times the data's lowest reward (0 if none is negative), minus 200 times its penalty."""
    observation_noise: float = 0.0
    """Noise of the agent's sensors, in standard deviations that the model predicts one step ahead.
    The critics of the built-in agent see the noiseless state."""
    project_angles: bool = True
    """Whether the system's (cos, sin) pairs are projected onto the circle after every step."""

    def __post_init__(self) -> None:
        at_least = {"max_episode_steps": 1, "uncertainty_penalty": 0, "bounds": 0,
                    "observation_noise": 0}  # fmt: skip
        check_fields(self, at_least)
        if self.bounds is None and self.out_of_bounds == "terminate":
            raise FarstepError(
                "out_of_bounds='terminate' needs bounds; give bounds, or choose 'clip'."
            )


_BRANCHED = ModelEnvConfig(initial_states="any", max_episode_steps=300)
_ENSEMBLE = replace(
    _BRANCHED, ensemble_mode="rollout", out_of_bounds="terminate", observation_noise=0.8
)
PRESETS = {
    "default": ModelEnvConfig(),
    "branched": _BRANCHED,
    "ensemble": _ENSEMBLE,
    "offline": replace(_ENSEMBLE, uncertainty_penalty=20.0),
}
"""`default`: full episodes from the data's first observations. `branched`: episodes of 300 steps
from any recorded observation, which visit more states. `ensemble`: the same with another member in
each episode, termination outside the data, and noisy sensors. Agents then cannot exploit one
member, states without data, or better sensors than the real ones. `offline`: the same with a
penalty on the members' disagreement, for when no real episode will correct the model."""
EnvPreset = Literal["default", "branched", "ensemble", "offline"]
