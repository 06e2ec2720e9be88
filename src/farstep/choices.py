"""The words that settings take; free of heavy imports, so that the command line starts fast."""

from typing import Literal

Activation = Literal["tanh", "relu", "silu", "gelu"]
Normalisation = Literal["batch", "layer", "none"]
Target = Literal["next", "delta"]
LossScale = Literal["observation", "target"]
"""The standard deviations that errors are measured in: of the observations, or of the target."""
Loss = Literal["mse", "nll"]
Propagation = Literal["mean", "sample"]
EnsembleMode = Literal["mean", "step", "rollout"]
"""Predict the mean of all members, a random member at each step, or one for a whole rollout."""

InitialStatesFrom = Literal["first", "any", "reset"]
"""Episodes start from the data's first observations, any of them, or the system's reset."""
WarmStart = Literal["none", "agent", "model", "both"]
OutOfBounds = Literal["clip", "terminate"]
Uncertainty = Literal["disagreement", "std"]
"""How far an ensemble's members are apart, or the largest predicted standard deviation."""
