"""One run: a model fitted on a dataset and scored on its test part, kept in one directory."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from farstep.datasets.reading import read
from farstep.errors import DivergedError
from farstep.fields import changed, identity_of
from farstep.files import locked
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.fit import fit
from farstep.runs.r2_file import NAME, read_r2, write_r2
from farstep.scoring.errors import r_squared


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
        run = asdict(self)
        # A setting that was added since has the value that the paper's has.
        added = json.loads(json.dumps(asdict(PAPER)))
        with locked(place):
            stored = read_r2(place, run, data.fingerprint, added)
            if stored is not None:
                return stored
            train, validation, test = data.split(self.split_seed)
            # A result of these settings on other data: so is everything beside it.
            stale = (place / NAME).exists()
            try:
                model = fit(train, validation, self.config, out=place, force=stale)
                values = r_squared(model.dynamics, test, self.horizon)
            except DivergedError:
                count = self.horizon // self.config.stride
                values = np.full((count, data.signals.num_states), -np.inf)
            write_r2(place, run, data.fingerprint, values)
            written = read_r2(place, run, data.fingerprint, added)
            assert written is not None
            return written
