"""Horizon weights α_1 … α_h: profiles as values, each with a text form. All sum to one.

To add a profile, write one subclass of `Profile` here, a frozen dataclass with a `name`: it is then
known by that name in Python, on the command line and in files. Its fields are floats, the numbers
of its text form. Override `check` if it does not fit every horizon.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from farstep.errors import FarstepError, did_you_mean
from farstep.storage.fingerprint import qualified_name
from farstep.systems.registry import import_attribute

Losses: TypeAlias = Float[Array, " h"]
"""The running average of the loss at each horizon."""

PROFILES: dict[str, type["Profile"]] = {}
"""The profiles by name."""


class Profile(abc.ABC):
    """The weights of the losses at horizons 1 to h; subclasses are frozen dataclasses."""

    name: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            PROFILES[cls.name] = cls

    @classmethod
    def of(cls, *numbers: float) -> "Profile":
        """Return the profile that has these numbers in its text form."""
        return cls(*numbers)

    @property
    def text(self) -> str:
        """The text form, such as `decay:0.75`: the name, and the fields up to the last defaults."""
        parts = [(getattr(self, f.name), f.default) for f in fields(self)]  # pyright: ignore[reportArgumentType]
        while parts and parts[-1][0] == parts[-1][1]:
            parts.pop()
        numbers = np.ravel([value for value, _ in parts]).astype(float).tolist()
        return ":".join([self.name, *([",".join(map(repr, numbers))] if numbers else [])])

    @abc.abstractmethod
    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the weights, from the running losses or the trained `logits`."""

    def fixed(self, horizon: int) -> Losses | None:
        """Return the weights of a profile that never changes; None if it does."""
        del horizon
        return None

    def penalty(self, weights: Losses) -> Float[Array, ""]:
        """Return the term that these weights add to the objective."""
        del weights
        return jnp.zeros(())

    def check(self, horizon: int) -> None:
        """Fail if the profile does not fit this horizon."""
        del horizon

    @property
    def trained(self) -> bool:
        """Whether the gradient flows into the weights."""
        return False


class Fixed(Profile):
    """Weights that depend on the horizon alone."""

    def fixed(self, horizon: int) -> Losses:
        """Return the weights."""
        return self.weights(jnp.ones(horizon), jnp.zeros(horizon))


@dataclass(frozen=True)
class Uniform(Fixed):
    """1/h each."""

    name = "uniform"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return 1/h each."""
        del logits
        return jnp.full_like(losses, 1 / losses.shape[0])


@dataclass(frozen=True)
class Auto(Uniform):
    """1/h each; `fit` chooses h itself, up to the horizon of its configuration."""

    name = "auto"


@dataclass(frozen=True)
class Decay(Fixed):
    """Proportional to β^j: β < 1 favours the near horizons, β > 1 the far ones."""

    name = "decay"
    beta: float

    def __post_init__(self) -> None:
        if not isinstance(self.beta, Real) or not 0 < self.beta < float("inf"):
            raise FarstepError(f"the β of decay must be above 0, not {self.beta!r}.")

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return β^j over their sum, as a softmax so that no power overflows."""
        del logits
        return jax.nn.softmax(jnp.arange(losses.shape[0]) * math.log(self.beta))


@dataclass(frozen=True)
class Explicit(Fixed):
    """Given weights, one for each horizon, scaled to sum to one."""

    name = "explicit"
    alphas: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.alphas or min(self.alphas) < 0 or not 0 < sum(self.alphas) < float("inf"):
            raise FarstepError(
                f"explicit weights must be 0 or more and not all 0, not {list(self.alphas)}."
            )

    @classmethod
    def of(cls, *numbers: float) -> "Explicit":
        """Return the profile of these weights."""
        return cls(tuple(numbers))

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return them."""
        del losses, logits
        # Divided in float64: float32 cannot hold the smallest and the largest of them.
        return jnp.asarray(np.asarray(self.alphas, np.float64) / sum(self.alphas))

    def check(self, horizon: int) -> None:
        """Fail unless there is one weight for each horizon."""
        if len(self.alphas) != horizon:
            raise FarstepError(
                f"explicit weights must be one for each of {horizon} horizons, not "
                f"{len(self.alphas)}."
            )


@dataclass(frozen=True)
class Proportional(Profile):
    """Proportional to 1/L_j, so that all horizons contribute alike."""

    name = "proportional"

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return 1/L_j over their sum; an L_j below 1e-8, as of a likelihood, counts as 1e-8."""
        del logits
        inverse = 1 / jnp.maximum(losses, 1e-8)
        return inverse / inverse.sum()


@dataclass(frozen=True)
class Learned(Profile):
    """Softmax of h parameters trained with the model; without entropy they collapse onto j = 1."""

    name = "learned"
    entropy: float = 0.0
    """entropy × H(α) is subtracted from the objective, which favours even weights."""

    def __post_init__(self) -> None:
        if not 0 <= self.entropy < float("inf"):
            raise FarstepError(f"the entropy of learned must be 0 or more, not {self.entropy:g}.")

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the softmax."""
        del losses
        return jax.nn.softmax(logits)

    def penalty(self, weights: Losses) -> Float[Array, ""]:
        """Return −entropy × H(α)."""
        return self.entropy * jnp.sum(jax.scipy.special.xlogy(weights, weights))

    @property
    def trained(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True)
class UserFunction(Profile):
    """A user's function of the running losses, scaled to sum to one.

    It is identified by `module:qualname`. A stored fit does not notice that its code has changed.
    """

    function: Callable[..., Any]
    reference: str

    @property
    def text(self) -> str:
        """`module:qualname`."""
        return self.reference

    def weights(self, losses: Losses, logits: Losses) -> Losses:
        """Return the function's values over their sum."""
        del logits
        values = jnp.asarray(self.function(losses))
        if values.shape != losses.shape:
            raise FarstepError(
                f"weights '{self.reference}' must return one weight for each of "
                f"{losses.shape[0]} losses, not shape {values.shape}."
            )
        return values / values.sum()


def decay(beta: float | int) -> Decay:
    """Weigh horizon j in proportion to β^j."""
    return Decay(float(beta) if isinstance(beta, Real) else beta)


def explicit(*alphas: float | int) -> Explicit:
    """Give the weights of horizons 1, 2, … yourself; they are scaled to sum to one."""
    return Explicit(tuple(float(alpha) for alpha in alphas))


def profile(given: Any) -> Profile:
    """Return the profile for a text (`decay:0.75`), value, function or list of numbers.

    Args:
        given: As the user wrote it. A function takes the running losses and returns weights;
            `module:attribute` imports one.
    """
    if isinstance(given, Profile):
        return given
    if callable(given):
        return UserFunction(given, qualified_name(given))
    if not isinstance(given, str):
        try:
            return explicit(*given)
        except (TypeError, ValueError) as error:
            if isinstance(error, FarstepError):
                raise
            raise FarstepError(
                "weights must be a text such as decay:0.75, a function or a list of numbers, not "
                f"{given!r}."
            ) from error
    name, _, rest = given.partition(":")
    if name in PROFILES:
        return _parsed(given, PROFILES[name], rest)
    if rest.isidentifier():
        return _imported(given)
    raise FarstepError(
        f"there are no weights '{given}'. {did_you_mean(name, PROFILES)} module:attribute gives a "
        "function of the running losses."
    )


def _parsed(given: str, kind: type[Profile], rest: str) -> Profile:
    try:
        return kind.of(*(float(number) for number in rest.split(",") if rest))
    except (ValueError, TypeError) as error:
        if isinstance(error, FarstepError):
            raise
        parts = [f.name.upper() for f in fields(kind)]  # pyright: ignore[reportArgumentType]
        form = ":".join([kind.name, *([",".join(parts)] if parts else [])])
        raise FarstepError(f"weights '{given}' cannot be read; the form is {form}.") from error


def _imported(reference: str) -> UserFunction:
    found = import_attribute(reference, from_here=True)
    if isinstance(found, Profile) or not callable(found):
        raise FarstepError(
            f"'{reference}' must be a function of the running losses, not a "
            f"{type(found).__name__}; give a profile by its own name, such as decay:0.75."
        )
    return UserFunction(found, reference)
