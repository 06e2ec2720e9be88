"""The learning curve of an agent: one row for each evaluation."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from farstep.agents.program import Tally
from farstep.agents.sac import Losses
from farstep.errors import DivergedError
from farstep.json_numbers import json_numbers

DIVERGED = (
    "the agent diverged: its losses are not finite. Try a smaller learning_rate, or rewards of a "
    "smaller scale."
)


@dataclass
class AgentCurve:
    """What was measured, in the order of steps."""

    rows: list[dict[str, float | None]] = field(default_factory=list)
    """By name: steps, updates, seconds, returns, and what the imagination says of itself."""

    def add(self, row: Mapping[str, float | int | None]) -> None:
        """Append one evaluation; numbers that are not finite become None."""
        self.rows.append({name: json_numbers(value) for name, value in row.items()})

    def column(self, name: str) -> np.ndarray:
        """Return one column, NaN where there is no number."""
        return np.array([row.get(name) for row in self.rows], np.float64)

    def time_since(self, began: tuple[float, float]) -> dict[str, float]:
        """Return seconds and seconds of processor time, those of the rows so far included."""
        spent = [end - start for end, start in zip(now(), began, strict=True)]
        names = ("seconds", "cpu_seconds")
        return {n: (self.last.get(n) or 0.0) + s for n, s in zip(names, spent, strict=True)}

    @property
    def scalars(self) -> dict[str, float | None]:
        """The last row's numbers, for TensorBoard."""
        return {n: v for n, v in self.last.items() if n not in ("steps", "seconds", "cpu_seconds")}

    @property
    def last(self) -> dict[str, float | None]:
        """The last row, empty before the first."""
        return self.rows[-1] if self.rows else {}

    @property
    def best(self) -> int | None:
        """The row with the highest real return, the later of equal ones; None without one."""
        return self.highest("real_return")

    @property
    def promising(self) -> int | None:
        """The row that the model thinks best: by its returns, less the penalty if there is one."""
        careful = "careful_return" in self.last
        return self.highest("careful_return" if careful else "imagined_return")

    def highest(self, name: str) -> int | None:
        """Return the row with the highest value of a column, the later of equal ones."""
        values = self.column(name) if self.rows else np.array([])
        if not np.isfinite(values).any():
            return None
        return int(np.flatnonzero(values == np.nanmax(values))[-1])

    def leads(self, highest: int | None) -> bool:
        """Return whether the last row is that highest one, or nothing tells which is."""
        return highest in (None, len(self.rows) - 1)

    def of_policy(self, keep: str) -> dict[str, float | None]:
        """Return the row of the policy that training gave, with that setting of `keep`."""
        highest = self.promising if keep == "best" else None
        return self.last if highest is None else self.rows[highest]

    def to_json(self) -> list[dict[str, float | None]]:
        """Return plain values."""
        return self.rows

    @classmethod
    def from_json(cls, rows: Sequence[Mapping[str, Any]]) -> "AgentCurve":
        """Rebuild what `to_json` gave."""
        return cls([dict(row) for row in rows])


def now() -> tuple[float, float]:
    """Return the clock, and the processor time of this process."""
    return time.perf_counter(), time.process_time()


def check_finite(losses: Losses) -> None:
    """Fail if an update's loss was not finite: from then on nothing else would be."""
    if not np.isfinite(jax.device_get([losses.actor, losses.critic])).all():
        raise DivergedError(DIVERGED)


def described_losses(sums: Losses, updates: int) -> dict[str, float]:
    """Return means over some updates, by name; nothing without one."""
    return {
        f"{name}{'_loss' if name in ('actor', 'critic') else ''}": float(value) / updates
        for name, value in jax.device_get(sums)._asdict().items()
        if updates
    }


def described(tally: Tally) -> dict[str, float | None]:
    """Return means over some steps, by name."""
    sums = jax.device_get(tally)
    steps, episodes = int(sums.steps), int(sums.episodes)
    return {
        "training_return": float(sums.returns) / episodes if episodes else None,
        "bounded": int(sums.bounded) / max(steps, 1),
        "not_finite": float(sums.not_finite),
        "strangeness": float(sums.strangeness) / max(int(sums.turns), 1),
        **described_losses(sums.losses, int(sums.updates)),
    }
