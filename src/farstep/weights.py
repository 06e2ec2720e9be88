"""Horizon weights α_1 … α_h: profiles as values, each with a text form. All sum to one."""

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.errors import FarstepError, did_you_mean
from farstep.sources import source_of

Losses: TypeAlias = Float[Array, " h"]
"""The running average of the loss at each horizon."""


class Profile(abc.ABC):
    """How the losses at horizons 1 to h are weighed."""

    @property
    @abc.abstractmethod
    def text(self) -> str:
        """The form that the command line takes and files keep."""

    @abc.abstractmethod
    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the weights, from the running losses or the trained `logits`."""

    def fixed(self, horizon: int) -> Losses | None:
        """Return the weights of a profile that never changes; None of one that does."""
        del horizon
        return None

    def penalty(self, weights: Losses) -> Float[Array, ""]:
        """Return what is added to the objective for these weights."""
        del weights
        return jnp.zeros(())

    def check(self, horizon: int) -> None:
        """Fail if the profile does not fit this horizon."""
        del horizon

    @property
    def trained(self) -> bool:
        """Whether the gradient flows into the weights."""
        return False

    @property
    def source(self) -> str:
        """What defines the profile beyond its text: a function's own source, if it can be read."""
        return ""


class Fixed(Profile):
    """Weights that depend on nothing but the horizon."""

    def fixed(self, horizon: int) -> Losses:
        """Return them."""
        return self.weights(jnp.ones(horizon), jnp.zeros(horizon))


@dataclass(frozen=True)
class Uniform(Fixed):
    """1/h each."""

    @property
    def text(self) -> str:
        """`uniform`."""
        return "uniform"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return 1/h each."""
        del logits
        return jnp.full_like(losses, 1 / losses.shape[0])


@dataclass(frozen=True)
class Auto(Uniform):
    """1/h each; h itself is chosen by the fit, up to the horizon that is given."""

    @property
    def text(self) -> str:
        """`auto`."""
        return "auto"


@dataclass(frozen=True)
class Decay(Fixed):
    """Proportional to β^j: below 1 the near horizons count more, above 1 the far ones."""

    beta: float

    def __post_init__(self) -> None:
        if not isinstance(self.beta, Real) or not 0 < self.beta < float("inf"):
            raise FarstepError(f"decay needs a β above 0, not {self.beta!r}.")

    @property
    def text(self) -> str:
        """`decay:β`."""
        return f"decay:{self.beta!r}"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return β^j over their sum, as a softmax so that no power overflows."""
        del logits
        return jax.nn.softmax(jnp.arange(losses.shape[0]) * math.log(self.beta))


@dataclass(frozen=True)
class Explicit(Fixed):
    """Given weights, one for each horizon, scaled to sum to one."""

    alphas: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.alphas or min(self.alphas) < 0 or not 0 < sum(self.alphas) < float("inf"):
            raise FarstepError(
                f"explicit weights must be 0 or more and not all 0; got {list(self.alphas)}."
            )

    @property
    def text(self) -> str:
        """`explicit:α1,α2,…`."""
        return "explicit:" + ",".join(f"{alpha!r}" for alpha in self.alphas)

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return them."""
        del losses, logits
        # Divided in float64: float32 cannot hold the smallest and the largest of them.
        return jnp.asarray(np.asarray(self.alphas, np.float64) / sum(self.alphas))

    def check(self, horizon: int) -> None:
        """Fail unless there is one weight for each horizon."""
        if len(self.alphas) != horizon:
            raise FarstepError(
                f"{len(self.alphas)} explicit weights were given for horizon {horizon}; "
                "give one for each step ahead."
            )


@dataclass(frozen=True)
class Proportional(Profile):
    """Proportional to 1/L_j, so that all horizons contribute alike."""

    @property
    def text(self) -> str:
        """`proportional`."""
        return "proportional"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return 1/L_j over their sum. L_j below 1e-8, as a likelihood's can be, counts as that."""
        del logits
        inverse = 1 / jnp.maximum(losses, 1e-8)
        return inverse / inverse.sum()


@dataclass(frozen=True)
class Learned(Profile):
    """Softmax of h parameters trained with the model; they collapse onto j = 1 if left alone."""

    entropy: float = 0.0
    """Reward for an even spread: entropy × H(α) is subtracted from the objective."""

    def __post_init__(self) -> None:
        if not 0 <= self.entropy < float("inf"):
            raise FarstepError(f"the entropy regulariser must be 0 or more, not {self.entropy:g}.")

    @property
    def text(self) -> str:
        """`learned`, or `learned:ENTROPY`."""
        return f"learned:{self.entropy!r}" if self.entropy else "learned"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the softmax."""
        del losses
        return jax.nn.softmax(logits)

    def penalty(self, weights: Losses) -> Float[Array, ""]:
        """Return −entropy × H(α)."""
        return self.entropy * jnp.sum(jax.scipy.special.xlogy(weights, weights))

    @property
    def trained(self) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True)
class Own(Profile):
    """A user's function of the running losses; what it returns is scaled to sum to one."""

    function: Callable[[Losses], Losses]
    name: str

    @property
    def text(self) -> str:
        """`module:attribute`."""
        return self.name

    @property
    def source(self) -> str:
        """What tells it from other functions."""
        return source_of(self.function)

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the function's values over their sum."""
        del logits
        values = jnp.asarray(self.function(losses))
        if values.shape != losses.shape:
            raise FarstepError(
                f"weights '{self.name}' returned shape {values.shape} for {losses.shape[0]} "
                "losses; return one weight for each."
            )
        return values / values.sum()


def decay(beta: float | int) -> Decay:
    """Weigh horizon j in proportion to β^j."""
    return Decay(float(beta) if isinstance(beta, Real) else beta)


def explicit(*alphas: float | int) -> Explicit:
    """Give the weights of horizons 1, 2, … yourself; they are scaled to sum to one."""
    return Explicit(tuple(float(alpha) for alpha in alphas))


_KINDS: dict[str, Callable[..., Profile]] = {
    "auto": Auto,
    "uniform": Uniform,
    "decay": decay,
    "explicit": explicit,
    "proportional": Proportional,
    "learned": Learned,
}


def profile(
    given: str | Profile | Callable[[Losses], Losses] | Sequence[float | int],
    find: Callable[[str], Callable[[Losses], Losses]] | None = None,
) -> Profile:
    """Return the profile that a text (`decay:0.75`), value, function or list of numbers means.

    Args:
        given: What the user wrote. A function takes the running losses and returns weights.
        find: Imports a function named as `module:attribute`, where that is allowed.
    """
    if isinstance(given, Profile):
        return given
    if callable(given):
        name = f"{given.__module__}:{getattr(given, '__qualname__', type(given).__name__)}"
        return Own(given, name)
    if not isinstance(given, str):
        try:
            alphas = tuple(float(alpha) for alpha in given)
        except (TypeError, ValueError) as error:
            said = "weights are a text such as decay:0.75, a function, or a list of numbers"
            raise FarstepError(f"{said}, not {given!r}.") from error
        return Explicit(alphas)
    kind, _, rest = given.partition(":")
    if kind in _KINDS:
        return _parsed(given, kind, rest)
    if rest.isidentifier() and find is not None:
        found = find(given)
        if isinstance(found, Profile) or not callable(found):
            raise FarstepError(
                f"'{given}' is a {type(found).__name__}, not a function of the running losses; a "
                "known profile is given by its own name, such as decay:0.75."
            )
        return Own(found, given)
    guess = "" if "=" in given else f"{did_you_mean(kind, _KINDS)} "
    raise FarstepError(
        f"there are no weights '{given}'. {guess}Such as decay:0.75 or explicit:0.3,0.7, or "
        "module:attribute for a function of the running losses."
    )


def _parsed(given: str, kind: str, rest: str) -> Profile:
    try:
        return _KINDS[kind](*(float(number) for number in rest.split(",") if rest))
    except (ValueError, TypeError) as error:
        if isinstance(error, FarstepError):
            raise
        forms = "auto, uniform, decay:0.75, explicit:0.3,0.7, proportional, learned or learned:0.1"
        raise FarstepError(f"weights '{given}' are not of a known form: {forms}.") from error
