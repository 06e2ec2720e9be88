"""`farstep data`: look at, draw, convert and make datasets."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from farstep.datasets.columns import Columns

if TYPE_CHECKING:
    from farstep.signals import Signals


@dataclass(frozen=True)
class Info:
    """Show what a dataset holds: episodes, steps, quantiles, and each dimension."""

    path: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """A file, a Minari directory, or the name of a shipped set."""
    horizon: int | None = None
    """Also count the windows of this many steps."""

    def run(self) -> None:
        """Read and print."""
        from farstep.checks import check_horizon
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import read

        data = read(self.path)
        if self.horizon is not None:
            check_horizon(self.horizon, data.lengths)
        print_summary(data)
        if self.horizon is not None:
            print(f"{data.num_windows(self.horizon)} windows of {self.horizon} steps")
        print(f"fingerprint {data.fingerprint}")


@dataclass(frozen=True)
class Plot:
    """Draw the distributions of returns and of each observable, for any set of datasets."""

    paths: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PATH...")]
    """Files, Minari directories, or names of shipped sets."""
    out: Path = Path("figures")
    """Directory for returns.png, states.png and the same as PDF."""
    force: bool = False
    """Replace pictures that are there already."""

    def run(self) -> None:
        """Read, draw, and say where."""
        from farstep.datasets.reading import read
        from farstep.report.datasets import plot_datasets

        datasets = dict(zip(_labels(self.paths), map(read, self.paths), strict=True))
        for path in plot_datasets(datasets, self.out, self.force):
            print(f"wrote {path}")


@dataclass(frozen=True)
class Convert:
    """Copy a dataset into another format; tables of your own need --states and --actions.

    Example: farstep data convert log.csv log.npz --states x v --actions u --episode run
    """

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="IN")]
    """What to read: a file, a Minari directory, or the name of a shipped set."""
    target: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """What to write: NAME.npz, NAME.csv, NAME.parquet, or no suffix for Minari."""
    columns: Columns = field(default_factory=Columns)
    """What the columns of a table mean; not needed for one that Farstep wrote."""
    action_low: tuple[float, ...] = ()
    """Lower bound of each action."""
    action_high: tuple[float, ...] = ()
    """Upper bound of each action."""
    system: str | None = None
    """Take names, units and bounds from this system."""
    clip_actions: bool = False
    """Move actions beyond their bounds to the nearest bound; without it they are an error."""
    force: bool = False
    """Replace what is at the target."""

    def run(self) -> None:
        """Read, write, and say where."""
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import encoder, read, write
        from farstep.files import check_output

        encoder(self.target)
        check_output(self.target, self.force)
        columns = None if self.columns == Columns() else self.columns
        data = read(self.source, columns, clip_actions=self.clip_actions)
        signals = self._signals(data.signals)
        data = replace(
            data.with_signals(signals, self.clip_actions), system=self.system or data.system
        )
        write(data, self.target, self.force)
        print_summary(data)
        print(f"wrote {self.target}")

    def _signals(self, signals: "Signals") -> "Signals":
        if self.system is not None:
            from farstep.systems.registry import system

            signals = system(self.system).signals
        low, high = self.action_low or signals.action_low, self.action_high or signals.action_high
        return replace(signals, action_low=low, action_high=high)


@dataclass(frozen=True)
class Make:
    """Make a named dataset by its recipe.

    Example: farstep data make cartpole-swingup/random --out data/random
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The dataset's name; without a match, the error lists them."""
    out: Path
    """Where to store it."""
    workers: int = os.cpu_count() or 1
    """Processes to run in."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Make, write, and say where."""
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import encoder, write
        from farstep.files import check_output
        from farstep.recipes import make_dataset

        encoder(self.out)
        check_output(self.out, self.force)
        data = make_dataset(self.name, self.workers)
        write(data, self.out, self.force)
        print_summary(data)
        print(f"wrote {self.out}")


@dataclass(frozen=True)
class List:
    """List the datasets that come with Farstep, with their recipes and hashes."""

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.tables import print_table
        from farstep.datasets.shipped import records

        print_table(
            "Shipped datasets",
            ["name", "episodes", "steps", "seed", "sha256 of the file", "what"],
            [
                (name, r["episodes"], r["steps"], r["seed"], r["sha256"][:16], r["about"])
                for name, r in sorted(records().items())
            ],
        )


@dataclass(frozen=True)
class Data:
    """Look at, draw, convert and make datasets."""

    command: (
        Annotated[Info, tyro.conf.subcommand("info")]
        | Annotated[Plot, tyro.conf.subcommand("plot")]
        | Annotated[Convert, tyro.conf.subcommand("convert")]
        | Annotated[Make, tyro.conf.subcommand("make")]
        | Annotated[List, tyro.conf.subcommand("list")]
    )

    def run(self) -> None:
        """Run the chosen one."""
        self.command.run()


def _labels(paths: tuple[str, ...]) -> list[str]:
    """Return short names: the last part of each path, or the whole where two would be the same."""
    short = [Path(path).stem for path in paths]
    return [
        name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)
    ]
