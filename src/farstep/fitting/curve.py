"""The training curve: what is recorded every epoch and kept with the model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from farstep.fitting.training import EpochRecord
from farstep.fitting.validation import Validation


@dataclass
class Curve:
    """One entry for each epoch of a member's training."""

    train: list[list[float | None]] = field(default_factory=list)
    """Training loss at each horizon."""
    validation: list[list[float | None]] = field(default_factory=list)
    """Validation loss at each horizon."""
    weights: list[list[float | None]] = field(default_factory=list)
    """Horizon weights after the epoch."""
    gradient_norm: list[float | None] = field(default_factory=list)
    """Mean norm of the gradient."""
    score: list[float | None] = field(default_factory=list)
    """Validation score; lower is better."""
    seconds: list[float] = field(default_factory=list)
    """What the epoch took."""

    def add(self, record: EpochRecord, validation: Validation, seconds: float) -> None:
        """Append an epoch."""
        self.train.append(_plain(record.losses))
        self.validation.append(_plain(validation.losses))
        self.weights.append(_plain(record.weights))
        self.gradient_norm += _plain(record.gradient_norm)
        self.score += _plain(validation.score)
        self.seconds.append(round(seconds, 4))

    @property
    def best(self) -> int | None:
        """The epoch with the lowest score, from 0; None if no score is finite."""
        scores = [math.inf if score is None else score for score in self.score]
        best = min(range(len(scores)), key=scores.__getitem__, default=None)
        return None if best is None or scores[best] == math.inf else best

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the best epoch."""
        return {**vars(self), "best_epoch": self.best}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Curve":
        """Rebuild what `to_json` gave."""
        return cls(**{name: value for name, value in data.items() if name != "best_epoch"})


class TensorBoard:
    """Writes the curve as TensorBoard event files, if there is a directory for them."""

    def __init__(self, folder: Path | None, member: int, start: int) -> None:
        self._writer = None
        if folder is not None:
            from tensorboardX import SummaryWriter

            self._writer = SummaryWriter(str(folder / f"member-{member}"), purge_step=start)

    def add(self, curve: Curve) -> None:
        """Write the curve's last epoch."""
        if self._writer is None:
            return
        epoch = len(curve.score) - 1
        for name in ("train", "validation", "weights"):
            for j, value in enumerate(getattr(curve, name)[-1], start=1):
                self._scalar(f"{name}/{j}", value, epoch)
        self._scalar("gradient_norm", curve.gradient_norm[-1], epoch)
        self._scalar("score", curve.score[-1], epoch)
        self._writer.flush()  # before the checkpoint, so that a killed fit misses nothing

    def __enter__(self) -> "TensorBoard":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the files."""
        if self._writer is not None:
            self._writer.close()

    def _scalar(self, name: str, value: float | None, epoch: int) -> None:
        if self._writer is not None:
            self._writer.add_scalar(name, math.nan if value is None else value, epoch)


def _plain(values: Any) -> list[float | None]:
    """Return numbers for JSON, which knows neither NaN nor infinity."""
    numbers = np.asarray(values, np.float64).reshape(-1).tolist()
    return [number if math.isfinite(number) else None for number in numbers]
