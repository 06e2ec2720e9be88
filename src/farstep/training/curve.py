"""The training curve: the numbers of every epoch, stored with the model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from farstep.storage.fingerprint import json_numbers
from farstep.training.epoch import EpochRecord
from farstep.training.validation import Validation


@dataclass
class Curve:
    """One entry for each epoch of a member's training; None for a number that is not finite."""

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
    """Duration of the epoch."""

    def add(self, record: EpochRecord, validation: Validation, seconds: float) -> None:
        """Append an epoch."""
        self.train.append(json_numbers(np.ravel(record.losses)))
        self.validation.append(json_numbers(np.ravel(validation.losses)))
        self.weights.append(json_numbers(np.ravel(record.weights)))
        self.gradient_norm.append(json_numbers(record.gradient_norm))
        self.score.append(json_numbers(validation.score))
        self.seconds.append(round(seconds, 4))

    @property
    def best(self) -> int | None:
        """The epoch with the lowest score, from 0; None if no score is finite."""
        scores = [math.inf if score is None else score for score in self.score]
        best = min(range(len(scores)), key=scores.__getitem__, default=None)
        return None if best is None or scores[best] == math.inf else best

    @property
    def scalars(self) -> dict[str, float | None]:
        """The last epoch's numbers by their names in TensorBoard."""
        named = {
            f"{name}/{j}": value
            for name in ("train", "validation", "weights")
            for j, value in enumerate(getattr(self, name)[-1], start=1)
        }
        return {**named, "gradient_norm": self.gradient_norm[-1], "score": self.score[-1]}

    @property
    def status(self) -> str:
        """The last epoch in a few words, for the progress bar."""
        losses, score = self.train[-1], self.score[-1]
        shown = [f"{value:.3g}" for value in (losses[0], losses[-1]) if value is not None]
        return f"loss {' … '.join(dict.fromkeys(shown))}  score {score:.4g}" if score else ""

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the best epoch."""
        return {**vars(self), "best_epoch": self.best}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Curve":
        """Rebuild a curve from `to_json`."""
        return cls(**{name: value for name, value in data.items() if name != "best_epoch"})
