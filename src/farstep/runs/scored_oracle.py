"""A run: what is physically possible on a dataset's test part."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from farstep.datasets.reading import read
from farstep.evaluation.entries import oracle
from farstep.runs.r2 import encoded
from farstep.runs.run import Run, Runs
from farstep.scoring.errors import errors


@dataclass(frozen=True)
class ScoredOracle(Run):
    """The real simulator, set to the observed state, on a dataset's test part."""

    data: str
    horizon: int = 100
    split_seed: int = 0

    kind: ClassVar[str] = "oracle"

    @property
    def settings(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @property
    def reads(self) -> tuple[str, ...]:
        """What it is scored on."""
        return (self.data,)

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Score it; R² is None where there is no simulator to ask."""
        del place, store
        test = read(self.data).split(self.split_seed).test
        found = oracle(test)
        if found is None:
            return {"r2": None}
        return {"r2": encoded(errors(found.predictors, test, self.horizon).r_squared[0, 0])}
