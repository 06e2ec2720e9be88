"""`python -m reproduction`: parse, reproduce, print."""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from farstep.errors import DataWarning, FarstepError
from farstep.runtime.processes import ctrl_c_ends_at_once, usable_cores


@dataclass(frozen=True)
class Reproduce:
    """Regenerate figures and tables of the paper: compute, evaluate, draw.

    fixed-horizon: R² of fixed-horizon models. alpha-study: R² at h = 2 for weights (α, 1 − α).
    weight-profiles: the decaying weights. profile-r2: R² of all weight profiles at h = 2, 4, 10.
    offline-table: returns of agents trained in models. return-r2: these against R².
    iterated-curves: returns of iterated batch RL. dataset-returns, dataset-observations: the data.
    dataset-r2: R² of the models that the paper trains agents in, on every dataset.
    search: the network's settings by validation R² (extra tune).
    all: every one of these; runs that several need are computed once.
    demo: a tour in minutes, in any preset: two models, their R², an agent in each.

    Rows that are recorded in reproduction/results are not computed again, and a killed command
    continues when it is called again.

    Example: python -m reproduction fixed-horizon alpha-study --preset quick --out paper
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME...")]
    """Some of the figures above."""
    preset: Literal["quick", "standard", "paper"] = "paper"
    """quick takes minutes, which the figures mention; standard is the paper's protocol with
    smaller budgets for agents; paper is the paper's."""
    seeds: int | None = None
    """Number of seeds, in place of the preset's."""
    out: Path = Path("paper")
    """Directory of runs, figures, and report.html with everything."""
    workers: int = usable_cores()
    """Processes of one thread each."""
    ray: str | None = None
    """Address of a Ray cluster, such as auto or ray://head:10001, to compute there (extra ray)."""
    dry_run: bool = False
    """Only print what would be computed, and how long it would take."""
    record: bool = False
    """Add the computed rows to reproduction/results."""
    figures: Path | None = None
    """Copy all pictures (PNG) and tables to this directory, too."""


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    options = tyro.cli(Reproduce, prog="python -m reproduction", description=Reproduce.__doc__)
    try:
        with warnings.catch_warnings(), ctrl_c_ends_at_once():
            warnings.simplefilter("always", DataWarning)
            run(options)
    except FarstepError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        sys.exit(2)


def run(options: Reproduce) -> None:
    """Reproduce, print the tables, and name every file."""
    from farstep.cli.tables import print_table
    from reproduction.estimate import Estimate, estimate
    from reproduction.figure import Plan
    from reproduction.report import report
    from reproduction.reproduce import figures_named, reproduce

    def print_estimate(found: Estimate) -> None:
        rows = [(name, count, known) for name, (count, known) in found.rows.items()]
        print_table("Rows of each figure", ["figure", "rows", "recorded"], rows)
        rows = [
            (kind, count, found.missing.get(kind, 0), f"{found.seconds.get(kind, 0) / 3600:.2f}")
            for kind, count in found.total.items()
        ]
        print_table("Runs", ["kind", "runs", "to compute", "hours of one core"], rows)
        missing = sum(found.missing.values())
        print(f"{found.measured} of {missing} time(s) are from runs with the same settings.")

    plan = Plan(options.preset, options.seeds)
    found = estimate(figures_named(options.names), options.out, plan)
    if options.dry_run:
        print_estimate(found)
    todo, total = (sum(counts.values()) for counts in (found.missing, found.total))
    hours = found.hours(options.workers)
    time = f": {_duration(hours)} with {options.workers} worker(s)" if todo else ""
    print(f"{todo} of {total} run(s) are to be computed{'' if options.ray else time}", flush=True)
    if options.dry_run:
        return
    done = reproduce(
        options.names,
        options.out,
        plan,
        workers=options.workers,
        ray=options.ray,
        record=options.record,
        figures=options.figures,
    )
    for one in done:
        for title, table in one.drawing.tables.items():
            print_table(f"{title}: {table.title}", table.columns, table.rows)
        for note in one.drawing.notes:
            print(note)
        for path in one.files:
            print(f"wrote {path}")
    print(f"wrote {report(done, options.out)}, which has all of it")


def _duration(hours: float) -> str:
    if hours >= 1:
        return f"about {hours:.1f} hours"
    return f"about {60 * hours:.0f} minute(s)" if hours >= 1 / 60 else "less than a minute"


if __name__ == "__main__":
    main()
