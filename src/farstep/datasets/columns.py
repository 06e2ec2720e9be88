"""What the columns of a log mean."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

from farstep.errors import FarstepError, did_you_mean

TimeUnit = Literal["s", "ms", "us", "ns", "min", "h"]


@dataclass(frozen=True)
class Columns:
    """Which columns of a table mean what.

    Row t of an episode holds the state at time t, the action applied then, and the reward of that
    step. What an episode's last row holds beside the state is not used, since no state follows
    it. Without `states` and `actions`, columns called `state.NAME` and `action.NAME` are taken, as
    Farstep writes them.
    """

    states: tuple[str, ...] = ()
    """State columns, in order."""
    actions: tuple[str, ...] = ()
    """Action columns, in order."""
    episode: str | None = None
    """Column that tells episodes apart. Without one, the table is one episode."""
    reward: str | None = None
    """Reward column."""
    terminated: str | None = None
    """True where the task ended, on either of an episode's last two rows."""
    truncated: str | None = None
    """True where the recording was cut off, on either of an episode's last two rows."""
    time: str | None = None
    """Time as numbers, or timestamps. A gap starts a new episode."""
    time_unit: TimeUnit = "s"
    """What the numbers of the time column count; timestamps say it themselves."""
    gap: float = 1.5
    """A step in time longer than this many typical ones is a gap; more than 1."""

    def __post_init__(self) -> None:
        for kind in ("states", "actions"):
            given = getattr(self, kind)
            if isinstance(given, str):
                raise FarstepError(f"{kind} must be a tuple, such as ('{given}',), not a text.")
        if self.time_unit not in get_args(TimeUnit):
            known = did_you_mean(self.time_unit, get_args(TimeUnit))
            raise FarstepError(f"there is no unit of time {self.time_unit!r}. {known}")
        if not isinstance(self.gap, Real) or not 1 < float(self.gap) < math.inf:
            raise FarstepError(f"gap must be a number above 1, not {self.gap!r}.")
        if self.time is None and (self.gap, self.time_unit) != (Columns.gap, Columns.time_unit):
            raise FarstepError("a gap and a unit of time need a column of times (time=…, --time).")
        for name in self.actions:
            if name in self.states:
                raise FarstepError(f"column '{name}' is named as a state and as an action.")

    def names(self) -> list[str]:
        """Return all columns that are named."""
        single = (self.episode, self.reward, self.terminated, self.truncated, self.time)
        return [*self.states, *self.actions, *(name for name in single if name is not None)]
