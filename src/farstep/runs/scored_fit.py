"""One run: a model fitted on a dataset and scored on its test part, kept in one directory."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from farstep.datasets.reading import read
from farstep.files import publish
from farstep.fitting.checkpoint import identity_of
from farstep.fitting.config import FitConfig
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
        """The directory of this run: the same for the same settings."""
        return identity_of(**asdict(self))[:16]

    def run(self, folder: Path) -> Float[np.ndarray, "compositions d"]:
        """Return R² of each dimension; what `folder` holds of this run is not computed again."""
        place = folder / self.name
        result = place / _RESULT
        if not result.exists():
            train, validation, test = read(self.data).split(self.split_seed)
            model = fit(train, validation, self.config, out=place)
            values = r_squared(model.dynamics, test, self.horizon)
            content = {
                "run": asdict(self),
                "r2": [[float(v) if np.isfinite(v) else str(v) for v in row] for row in values],
            }
            publish(result, {"": json.dumps(content, indent=1).encode()}, force=True)
        return np.array(json.loads(result.read_text())["r2"], np.float64)
