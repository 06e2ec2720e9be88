"""`farstep reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from farstep.processes import usable_cores


@dataclass(frozen=True)
class Reproduce:
    """Make figures and tables of the paper again: compute, score, draw.

    fixed-horizon: R² of direct models. alpha-study: R² at h = 2 for weights (α, 1 − α).
    weight-profiles: decaying weights themselves. profile-r2: R² of all profiles at h = 2, 4, 10.
    offline-table: returns of agents trained inside models. return-r2: those against R².
    iterated-curves: returns of iterated batch RL. dataset-returns, dataset-states: the datasets.
    dataset-r2: R² of the models that the paper trains agents in, on every dataset.
    search: settings of the network by validation R² (extra tune).
    all: every one of these; what several need is computed once, and all is on one page.
    demo: a tour in minutes, in any preset: two models, their scores, an agent inside each.
    Stopped or killed, it goes on where it was when it is started again.

    Example: farstep reproduce fixed-horizon alpha-study --preset quick --out paper
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME...")]
    """Some of those above."""
    preset: Literal["quick", "standard", "paper"] = "paper"
    """quick takes minutes and says so on the figure; paper is the paper's setting, three seeds;
    standard is the same with smaller budgets where agents are trained."""
    seeds: int | None = None
    """How many, in place of the preset's."""
    out: Path = Path("paper")
    """Directory; runs are kept in its `runs` and shared by all exhibits."""
    workers: int = usable_cores()
    """Processes of one thread each."""
    ray: str | None = None
    """Address of a Ray cluster, such as auto or ray://head:10001, to compute there (extra ray)."""
    dry_run: bool = False
    """Only say what would be computed, what is there already, and how long it would take."""

    def run(self) -> None:
        """Reproduce, print the tables, and say where everything is."""
        from farstep.cli.tables import print_table
        from farstep.exhibits.reproduce import ALL, reproduce, what_is_missing
        from farstep.exhibits.whole_report import report

        if self.dry_run:
            self._estimate()
            return
        found = what_is_missing(self.names, self.out, self.preset, self.seeds)
        todo, total = (sum(counts.values()) for counts in (found.missing, found.total))
        local = todo and not self.ray
        time = f": {_length(found.hours(self.workers))} with {self.workers} worker(s)"
        print(f"{todo} of {total} run(s) are to be computed{time if local else ''}", flush=True)
        done = reproduce(
            self.names,
            self.out,
            self.preset,
            seeds=self.seeds,
            workers=self.workers,
            ray=self.ray,
        )
        for one in done:
            for title, table in one.tables.items():
                print_table(f"{title}: {table.title}", table.columns, table.rows)
            for note in one.notes:
                print(note)
            for path in one.files:
                print(f"wrote {path}")
        if ALL in self.names:
            page = report([self.out], self.out / "report.html", seeds=self.seeds, force=True)
            print(f"wrote {page}, which has all of it")

    def _estimate(self) -> None:
        from farstep.cli.tables import print_table
        from farstep.exhibits.reproduce import of_each, what_is_missing

        each = of_each(self.names, self.out, self.preset, self.seeds)
        print_table("Of each exhibit", ["exhibit", "runs", "there already"], each)
        found = what_is_missing(self.names, self.out, self.preset, self.seeds)
        hours = found.hours(self.workers)
        rows = [
            (
                kind,
                count,
                count - found.missing.get(kind, 0),
                found.missing.get(kind, 0),
                f"{found.seconds.get(kind, 0) / 3600:.2f}",
            )
            for kind, count in found.total.items()
        ]
        columns = ["kind", "runs", "there already", "to compute", "hours of one core"]
        print_table("What would be computed", columns, rows)
        print(
            f"{_length(hours)} with {self.workers} worker(s); "
            f"{found.measured} of {sum(found.missing.values())} by runs of the same settings, the "
            "others by what their kind takes."
        )


def _length(hours: float) -> str:
    if hours >= 1:
        return f"about {hours:.1f} hours"
    return f"about {60 * hours:.0f} minute(s)" if hours >= 1 / 60 else "less than a minute"
