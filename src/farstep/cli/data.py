"""`farstep data`: look at, draw, convert and make datasets."""

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from farstep.datasets.columns import Columns
from farstep.errors import DataWarning, FarstepError
from farstep.processes import usable_cores

if TYPE_CHECKING:
    from farstep.signals import Signals


@dataclass(frozen=True)
class Info:
    """Show what a dataset holds: episodes, steps, quantiles, and each dimension.

    Example: farstep data info cartpole-swingup/medium --horizon 100
    """

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
    """Draw the distributions of returns and of each observable, for any set of datasets.

    Example: farstep data plot cartpole-swingup/random cartpole-swingup/medium --out figures
    """

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
    state_units: tuple[str, ...] = ()
    """Unit of each state."""
    action_units: tuple[str, ...] = ()
    """Unit of each action."""
    action_low: tuple[float, ...] = ()
    """Lower bound of each action."""
    action_high: tuple[float, ...] = ()
    """Upper bound of each action."""
    system: str | None = None
    """Take names, units and bounds from this system."""
    clip_actions: bool = False
    """Move actions beyond their bounds to the nearest bound; without it they are an error."""
    pieces: int | None = None
    """Cut episodes into pieces of so many steps: a log of one long run cannot be split otherwise
    into parts for training, validation and test."""
    force: bool = False
    """Replace what is at the target."""

    def run(self) -> None:
        """Read, write, and say where."""
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import check_target, read, write

        check_target(self.target, self.force)
        columns = None if self.columns == Columns() else self.columns
        data = read(self.source, columns, clip_actions=self.clip_actions)
        signals = self._signals(data.signals)
        data = replace(
            data.with_signals(signals, self.clip_actions), system=self.system or data.system
        )
        data = data if self.pieces is None else data.pieces(self.pieces)
        write(data, self.target, self.force)
        print_summary(data)
        print(f"wrote {self.target}")

    def _signals(self, signals: "Signals") -> "Signals":
        """Return the file's signals with what the options say of them."""
        given = {
            "state_units": self.state_units,
            "action_units": self.action_units,
            "action_low": self.action_low,
            "action_high": self.action_high,
        }
        if self.system is not None:
            signals = self._of_system(signals)
        return replace(signals, **{name: value for name, value in given.items() if value})

    def _of_system(self, measured: "Signals") -> "Signals":
        from farstep.systems.registry import system

        known = system(str(self.system)).signals
        sizes = (measured.num_states, measured.num_actions), (known.num_states, known.num_actions)
        if sizes[0] != sizes[1]:
            raise FarstepError(
                f"{self.source} has {sizes[0][0]} states and {sizes[0][1]} actions, but system "
                f"'{self.system}' has {sizes[1][0]} and {sizes[1][1]}."
            )
        for kind in ("state", "action"):
            ours, theirs = (getattr(one, f"{kind}_names") for one in (measured, known))
            if ours != theirs and set(ours) & set(theirs):
                raise FarstepError(
                    f"the {kind}s of {self.source} are ({', '.join(ours)}), those of system "
                    f"'{self.system}' ({', '.join(theirs)}); give --{kind}s in that order."
                )
        if measured.interval is None:
            return known
        if not measured.same_interval(known):
            warnings.warn(
                f"the log's interval is {measured.interval:g} s, the system's "
                f"{known.interval:g} s; the log's is kept.",
                DataWarning,
                stacklevel=2,
            )
        return replace(known, interval=measured.interval)


@dataclass(frozen=True)
class Make:
    """Make a named dataset by its recipe.

    Those of learning agents take hours; killed, the making goes on from OUT.work when it is started
    again. What is there, with every model and agent, can be removed when the dataset is made.

    Example: farstep data make cartpole-swingup/random --out data/random
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The dataset's name; without a match, the error lists them."""
    out: Path
    """Where to store it."""
    workers: int = usable_cores()
    """Processes to run in."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Make, write, and say where."""
        from farstep.cli.tables import print_summary
        from farstep.datasets.reading import check_target, write
        from farstep.recipes import make_dataset

        check_target(self.out, self.force)
        work = self.out.with_name(f"{self.out.name}.work")
        data = make_dataset(self.name, work, self.workers)
        write(data, self.out, self.force)
        print_summary(data)
        print(f"wrote {self.out}")
        if work.exists():
            print(f"wrote {work}: what it was made from")


@dataclass(frozen=True)
class List:
    """List the datasets that come with Farstep, with their recipes and hashes.

    Example: farstep data list
    """

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
    if len(set(paths)) < len(paths):
        raise FarstepError("the same dataset is named twice.")
    return [
        name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)
    ]
