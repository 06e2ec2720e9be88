"""`farstep reproduce`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Reproduce:
    """Make a figure of the paper again: compute, score, draw.

    fixed-horizon: R² of direct models. alpha-study: R² at h = 2 for weights (α, 1 − α).
    weight-profiles: decaying weights themselves. profile-r2: R² of all profiles at h = 2, 4, 10.
    iterated-curves: returns of iterated batch RL. dataset-returns, dataset-states: the datasets.
    dataset-r2: R² of the models that the paper trains agents in, on every dataset.
    Stopped or killed, it goes on where it was when it is started again.

    Example: farstep reproduce fixed-horizon --preset quick --out paper
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """One of those above."""
    preset: Literal["quick", "standard", "paper"] = "paper"
    """quick takes minutes and says so on the figure; paper is the paper's setting, three seeds;
    standard is the same with smaller budgets where agents are trained."""
    out: Path = Path("paper")
    """Directory; runs are kept in its `runs` and shared by all exhibits."""
    workers: int = os.cpu_count() or 1
    """Processes of one thread each."""
    force: bool = False
    """Replace pictures that are there already; runs are kept."""

    def run(self) -> None:
        """Reproduce, print the tables, and say where everything is."""
        from farstep.cli.tables import print_table
        from farstep.exhibits.reproduce import reproduce

        done = reproduce(self.name, self.out, self.preset, self.workers, self.force)
        for data, table in done.tables.items():
            print_table(f"{data}: {table.title}", table.columns, table.rows)
        for note in done.notes:
            print(note)
        for path in done.files:
            print(f"wrote {path}")
