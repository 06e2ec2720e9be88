"""What the columns of a log mean."""

from dataclasses import dataclass

from farstep.errors import FarstepError


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
    """Time in seconds, or timestamps. A gap of over 1.5 typical intervals starts a new episode."""

    def __post_init__(self) -> None:
        for kind in ("states", "actions"):
            given = getattr(self, kind)
            if isinstance(given, str):
                raise FarstepError(f"{kind} must be a tuple, such as ('{given}',), not a text.")
        for name in self.actions:
            if name in self.states:
                raise FarstepError(f"column '{name}' is named as a state and as an action.")

    def names(self) -> list[str]:
        """Return all columns that are named."""
        single = (self.episode, self.reward, self.terminated, self.truncated, self.time)
        return [*self.states, *self.actions, *(name for name in single if name is not None)]
