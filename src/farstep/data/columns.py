"""Columns: the meaning of the columns of a log."""

import math
from dataclasses import dataclass
from typing import Literal

from farstep.errors import FarstepError
from farstep.settings import check_fields

TimeUnit = Literal["s", "ms", "us", "ns", "min", "h"]


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a table.

    Row t of an episode has the observation at time t, and the action and the reward of the step
    that starts there. On an episode's last row only the observation is used. Without `observations`
    and `actions`, the columns `observation.NAME` and `action.NAME` are used.
    """

    observations: tuple[str, ...] = ()
    """Observation columns, in order."""
    actions: tuple[str, ...] = ()
    """Action columns, in order."""
    episode: str | None = None
    """Column with a number or name for each episode. Without one, the table is one episode."""
    reward: str | None = None
    """Reward column."""
    terminated: str | None = None
    """True where the task ended, on either of an episode's last two rows."""
    truncated: str | None = None
    """True where the recording was cut off, on either of an episode's last two rows."""
    time: str | None = None
    """Time as numbers, or timestamps. A gap starts a new episode."""
    time_unit: TimeUnit = "s"
    """Unit of a time column of numbers; timestamps need none."""
    gap: float = 1.5
    """A time step longer than this many typical ones is a gap; above 1."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 < self.gap < math.inf:
            raise FarstepError(f"gap must be a finite number above 1, not {self.gap:g}.")
        if self.time is None and (self.gap, self.time_unit) != (Columns.gap, Columns.time_unit):
            raise FarstepError("gap and time_unit need a time column; pass time=… (--time).")
        for name in self.actions:
            if name in self.observations:
                raise FarstepError(f"column '{name}' is named as an observation and as an action.")

    def names(self) -> list[str]:
        """Return the names of all columns."""
        single = (self.episode, self.reward, self.terminated, self.truncated, self.time)
        return [*self.observations, *self.actions, *(name for name in single if name is not None)]
