"""The words that settings take; free of heavy imports, so that the command line can list them."""

from typing import Literal

from farstep.errors import FarstepError, did_you_mean

Activation = Literal["tanh", "relu", "silu", "gelu"]
Normalisation = Literal["batch", "layer", "none"]
Target = Literal["next", "delta"]
Units = Literal["state", "target"]
"""What errors are measured in: the standard deviations of the states, or of what is predicted."""
Loss = Literal["mse", "nll"]
Propagation = Literal["mean", "sample"]
Choice = Literal["mean", "step", "rollout"]
"""Of an ensemble: the mean of all, a random member at each step, or one for a whole rollout."""

Starts = Literal["first", "any", "reset"]
"""Of imagined episodes: the first states of the data, any of its states, or the system's reset."""
Warm = Literal["none", "agent", "model", "both"]
"""What an epoch of a loop goes on from, of the one before."""
Beyond = Literal["clip", "end"]
"""What is done with a state beyond the bounds: it is put back, or the episode ends there."""
Uncertainty = Literal["disagreement", "std"]
"""Of a model: how far an ensemble's members are apart, or the largest predicted deviation."""


def truncation(text: str) -> int | None:
    """Return k of the gradient `truncated:k`, or None of `full`."""
    kind, _, rest = text.partition(":")
    if text == "full":
        return None
    if kind == "truncated" and rest.isdecimal() and int(rest) > 0:
        return int(rest)
    raise FarstepError(
        f"there is no gradient '{text}'. {did_you_mean(kind, ['full', 'truncated:k'])} "
        "truncated:3 cuts it after every 3 compositions."
    )
