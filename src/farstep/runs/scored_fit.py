"""One run: a model fitted on a dataset and scored on its test part, kept in one directory."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from farstep.datasets.reading import read
from farstep.episodes import Episodes
from farstep.errors import DivergedError
from farstep.fields import changed, identity_of
from farstep.files import locked, publish
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.fit import fit
from farstep.scoring.errors import r_squared

_RESULT = "r2.json"


@dataclass(frozen=True)
class ScoredFit:
    """What is fitted and scored; everything that the result depends on."""

    data: str
    config: FitConfig
    horizon: int
    """Steps ahead that it is scored to."""
    split_seed: int = 0

    @property
    def name(self) -> str:
        """The directory of this run: the same for the same settings.

        Only what differs from the paper's settings counts, so that a setting which is added later
        and is off there changes no name.
        """
        settings = changed(self.config, PAPER)
        return identity_of(**{**asdict(self), "config": settings})[:16]

    def run(self, folder: Path) -> Float[np.ndarray, "compositions d"]:
        """Return R² of each dimension; what `folder` holds of this run is not computed again.

        A fit that diverges scores minus infinity. Of two processes that ask for one run the
        second waits for the first.
        """
        place = folder / self.name
        data = read(self.data)
        with locked(place):
            stored = self._stored(place, data)
            if stored is not None:
                return stored
            train, validation, test = data.split(self.split_seed)
            # A result of these settings on other data: so is everything beside it.
            stale = (place / _RESULT).exists()
            try:
                model = fit(train, validation, self.config, out=place, force=stale)
                values = r_squared(model.dynamics, test, self.horizon)
            except DivergedError:
                count = self.horizon // self.config.stride
                values = np.full((count, data.signals.num_states), -np.inf)
            content = {
                "run": asdict(self),
                "data": data.fingerprint,
                "r2": [[_rounded(v) for v in row] for row in values],
            }
            publish(place / _RESULT, {"": json.dumps(content).encode() + b"\n"}, force=True)
            return self._values(content)

    def _stored(self, place: Path, data: Episodes) -> Float[np.ndarray, "compositions d"] | None:
        """Return the result, if it is there, whole, and of this data."""
        try:
            content = json.loads((place / _RESULT).read_text())
            # A setting that was added since has the value that the paper's has.
            was = {**asdict(PAPER), **content["run"]["config"]}
            same = json.loads(json.dumps(was)) == json.loads(json.dumps(asdict(self.config)))
            same = same and content["data"] == data.fingerprint
            return self._values(content) if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @staticmethod
    def _values(content: dict[str, Any]) -> Float[np.ndarray, "compositions d"]:
        return np.array(content["r2"], np.float64)


def _rounded(value: float) -> float | str:
    """Return a number for JSON, which knows neither infinity nor NaN, with digits that matter."""
    return round(float(value), 7) if np.isfinite(value) else str(value)
