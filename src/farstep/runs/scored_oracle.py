"""One run: what is physically possible on a dataset's test part, kept in one directory."""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from farstep.datasets.reading import read
from farstep.evaluation.entries import oracle
from farstep.fields import identity_of
from farstep.files import locked
from farstep.runs.r2_file import read_r2, write_r2
from farstep.scoring.errors import errors


@dataclass(frozen=True)
class ScoredOracle:
    """The real simulator, set to the observed state, on a dataset's test part."""

    data: str
    horizon: int
    split_seed: int = 0

    @property
    def name(self) -> str:
        """The directory of this run."""
        return f"oracle-{identity_of(**asdict(self))[:16]}"

    def run(self, folder: Path) -> Float[np.ndarray, "steps d"] | None:
        """Return R² of each step and dimension; None where there is no simulator to ask."""
        place = folder / self.name
        data = read(self.data)
        with locked(place):
            stored = read_r2(place, asdict(self), data.fingerprint)
            if stored is not None:
                return stored
            test = data.split(self.split_seed).test
            found = oracle(test)
            if found is None:
                return None
            values = errors(found.predictors, test, self.horizon).r_squared[0, 0]
            write_r2(place, asdict(self), data.fingerprint, values)
            return values
