"""The learning curve of an agent: one row for each evaluation."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farstep.errors import DataWarning
from farstep.storage.fingerprint import json_numbers

_OFTEN = 0.2
"""Share of steps out of bounds above which a warning is issued."""


@dataclass(repr=False)
class AgentCurve:
    """Steps, updates, seconds, returns, losses and data distance at every evaluation."""

    rows: list[dict[str, float | None]] = field(default_factory=list)
    """In the order of steps; None where there is no number."""

    def __repr__(self) -> str:
        return f"AgentCurve: {len(self.rows)} evaluation(s) to step {self.last.get('steps')}"

    def add(self, row: Mapping[str, float | int | None]) -> None:
        """Append one evaluation; numbers that are not finite become None."""
        self.rows.append({name: json_numbers(value) for name, value in row.items()})

    def column(self, name: str) -> np.ndarray:
        """Return one column, NaN where there is no number."""
        return np.array([row.get(name) for row in self.rows], np.float64)

    def time_since(self, began: tuple[float, float]) -> dict[str, float]:
        """Return seconds and processor seconds so far, those of earlier rows included."""
        spent = [end - start for end, start in zip(now(), began, strict=True)]
        names = ("seconds", "cpu_seconds")
        return {n: (self.last.get(n) or 0.0) + s for n, s in zip(names, spent, strict=True)}

    @property
    def scalars(self) -> dict[str, float | None]:
        """The last row for TensorBoard."""
        return {n: v for n, v in self.last.items() if n not in ("steps", "seconds", "cpu_seconds")}

    @property
    def last(self) -> dict[str, float | None]:
        """The last row, empty before the first."""
        return self.rows[-1] if self.rows else {}

    @property
    def best(self) -> int | None:
        """The row with the highest real return, the later of equal ones; None without one."""
        return self._highest("real_return")

    @property
    def best_imagined(self) -> int | None:
        """The row with the highest imagined return, penalised if there is a penalty."""
        penalised = "penalised_return" in self.last
        return self._highest("penalised_return" if penalised else "imagined_return")

    def is_last(self, row: int | None) -> bool:
        """Return whether a row is the last one; true without a row."""
        return row in (None, len(self.rows) - 1)

    def of_policy(self, keep: str) -> dict[str, float | None]:
        """Return the row of the policy that training returned with this setting of `keep`."""
        highest = self.best_imagined if keep == "best" else None
        return self.last if highest is None else self.rows[highest]

    def to_json(self) -> list[dict[str, float | None]]:
        """Return plain values."""
        return self.rows

    @classmethod
    def from_json(cls, rows: Sequence[Mapping[str, Any]]) -> "AgentCurve":
        """Return the curve that `to_json` stored."""
        return cls([dict(row) for row in rows])

    def _highest(self, name: str) -> int | None:
        values = self.column(name) if self.rows else np.array([])
        if not np.isfinite(values).any():
            return None
        return int(np.flatnonzero(values == np.nanmax(values))[-1])


def warn_if_unreliable(curve: AgentCurve) -> None:
    """Warn if the model left the data or failed so often that imagined returns are unreliable."""
    out_of_bounds = curve.last.get("out_of_bounds") or 0.0
    not_finite = int(np.nansum(curve.column("not_finite")))
    found = []
    if out_of_bounds > _OFTEN:
        found.append(
            f"the model left the bounds in {out_of_bounds:.0%} of the last steps, so the agent may "
            "exploit the clipping. Fit an ensemble, set out_of_bounds='terminate', widen the "
            "bounds (bounds=0.1), or fit with a longer horizon."
        )
    if not_finite:
        found.append(
            f"{not_finite} imagined episode(s) were truncated because the model's state or reward "
            "was not finite; set bounds, or fit with a longer horizon."
        )
    for text in found:
        warnings.warn(text, DataWarning, stacklevel=3)


def now() -> tuple[float, float]:
    """Return the clock, and the processor time of this process."""
    return time.perf_counter(), time.process_time()
