"""`farstep data`: look at, draw, convert and make datasets."""

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from farstep.cli.command import Command, CommandGroup
from farstep.cli.options import ConfigFile, Data
from farstep.data.columns import Columns
from farstep.errors import DataWarning, FarstepError
from farstep.runtime.processes import usable_cores

if TYPE_CHECKING:
    from farstep.data.signals import Signals


@dataclass(frozen=True)
class DataInfo(Command):
    """Show what a dataset holds: episodes, steps, quantiles, and each dimension.

    Example: farstep data info cartpole-swingup/medium --horizon 100
    """

    data: Data
    """A file, a Minari directory, or the name of a shipped set."""
    horizon: int | None = None
    """Also count the windows of this many steps."""

    def run(self) -> None:
        """Read and print."""
        from farstep.cli.tables import print_summary
        from farstep.data.dataset_files import read_dataset
        from farstep.data.windows import check_horizon

        data = read_dataset(self.data)
        if self.horizon is not None:
            check_horizon(self.horizon, data.lengths)
        print_summary(data)
        if self.horizon is not None:
            print(f"{data.num_windows(self.horizon)} windows of {self.horizon} steps")
        print(f"fingerprint {data.fingerprint}")


@dataclass(frozen=True)
class DataPlot(Command):
    """Draw the distributions of returns and of each observation, for one or more datasets.

    Example: farstep data plot cartpole-swingup/random cartpole-swingup/medium --out figures
    """

    data: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DATA [DATA …]")]
    """Files, Minari directories, or names of shipped sets."""
    out: Path = Path("figures")
    """Directory for `returns` and `observations`, each as PNG and PDF."""
    force: bool = False
    """Replace existing pictures."""

    def run(self) -> None:
        """Read, draw, and print where."""
        from farstep.data.dataset_files import read_dataset
        from farstep.plotting.datasets import plot_datasets

        datasets = dict(zip(_labels(self.data), map(read_dataset, self.data), strict=True))
        for path in plot_datasets(datasets, self.out, self.force):
            print(f"wrote {path}")


@dataclass(frozen=True)
class ColumnOptions(Columns):
    """The meaning of the columns of a table; not needed for a table that Farstep wrote."""

    def __post_init__(self) -> None:
        """Leave the checks to the library: tyro would rephrase its messages."""


@dataclass(frozen=True)
class DataConvert(Command):
    """Copy a dataset into another format; tables of your own need --observations and --actions.

    Example: farstep data convert log.csv log.npz --observations x v --actions u --episode run
    """

    main: ClassVar[str | None] = "columns"

    data: Data
    """A file, a Minari directory, or the name of a shipped set."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """What to write: NAME.npz, NAME.csv, NAME.parquet, or no suffix for Minari."""
    columns: tyro.conf.OmitArgPrefixes[ColumnOptions] = field(default_factory=ColumnOptions)
    observation_units: tuple[str, ...] = ()
    """Unit of each observation."""
    action_units: tuple[str, ...] = ()
    """Unit of each action."""
    action_low: tuple[float, ...] = ()
    """Lower bound of each action."""
    action_high: tuple[float, ...] = ()
    """Upper bound of each action."""
    system: str | None = None
    """Take names, units and bounds from this system."""
    clip_actions: bool = False
    """Move actions outside their bounds to the nearest bound; without it they are an error."""
    chunk_steps: int | None = None
    """Cut episodes into episodes of this many steps. A single long run must be cut before it
    can be split into training, validation and test parts."""
    config: ConfigFile = None
    """Options from a YAML or JSON file; those given here override it."""
    force: bool = False
    """Replace what is at OUT."""

    def run(self) -> None:
        """Read, write, and print where."""
        from farstep.cli.tables import print_summary
        from farstep.data.dataset_files import check_target, read_dataset, write_dataset

        check_target(self.out, self.force)
        columns = Columns(**vars(self.columns))
        given = None if columns == Columns() else columns
        data = read_dataset(self.data, given, clip_actions=self.clip_actions)
        signals = self._signals(data.signals)
        system = self.system or data.system
        data = replace(data.with_signals(signals, self.clip_actions), system=system)
        if self.chunk_steps is not None:
            data = data.chunked(self.chunk_steps)
        write_dataset(data, self.out, self.force)
        print_summary(data)
        print(f"wrote {self.out}")

    def _signals(self, signals: "Signals") -> "Signals":
        """Return the file's signals, changed by the options."""
        given = {
            "observation_units": self.observation_units,
            "action_units": self.action_units,
            "action_low": self.action_low,
            "action_high": self.action_high,
        }
        if self.system is not None:
            signals = _signals_of_system(signals, self.system, self.data)
        return replace(signals, **{name: value for name, value in given.items() if value})


def _signals_of_system(measured: "Signals", system: str, source: str) -> "Signals":
    """Return the signals of a system, which must have the same columns as the measured ones."""
    from farstep.systems.registry import get_system

    known = get_system(system).signals
    ours, theirs = ((one.num_observations, one.num_actions) for one in (measured, known))
    if ours != theirs:
        raise FarstepError(
            f"{source} has {ours[0]} observations and {ours[1]} actions, but system '{system}' "
            f"has {theirs[0]} and {theirs[1]}."
        )
    for kind in ("observation", "action"):
        here, there = (getattr(one, f"{kind}_names") for one in (measured, known))
        if here != there and set(here) & set(there):
            raise FarstepError(
                f"the {kind}s of {source} are ({', '.join(here)}), those of system '{system}' "
                f"({', '.join(there)}); give --{kind}s in that order."
            )
    if measured.interval is None:
        return known
    if not measured.same_interval(known):
        warnings.warn(
            f"the log's interval of {measured.interval:g} s is kept; system '{system}' has "
            f"{known.interval:g} s.",
            DataWarning,
            stacklevel=2,
        )
    return replace(known, interval=measured.interval)


@dataclass(frozen=True)
class DataMake(Command):
    """Make a shipped dataset again by its recipe.

    Datasets of learning agents take hours. If the command is killed, the same command continues
    from OUT.work, which holds every model and agent; it can be removed afterwards.

    Example: farstep data make cartpole-swingup/random --out random
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The name of a shipped set; see `farstep data list`."""
    out: Path = Path("dataset")
    """File or directory for the episodes: NAME.npz, NAME.csv, NAME.parquet, or no suffix for
    Minari."""
    workers: int = usable_cores()
    """Processes to run in."""
    force: bool = False
    """Replace what is at --out."""

    def run(self) -> None:
        """Make, write, and print where."""
        from farstep.cli.tables import print_summary
        from farstep.data.dataset_files import check_target, write_dataset
        from farstep.workflows.dataset_recipes import make_dataset

        check_target(self.out, self.force)
        work = self.out.with_name(f"{self.out.name}.work")
        data = make_dataset(self.name, work, self.workers)
        write_dataset(data, self.out, self.force)
        print_summary(data)
        print(f"wrote {self.out}")
        if work.exists():
            print(f"wrote {work}: the models and agents of the recipe")


@dataclass(frozen=True)
class DataList(Command):
    """List the datasets that come with Farstep, with their recipes and hashes.

    Example: farstep data list
    """

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.tables import print_table
        from farstep.data.dataset_files import shipped_records

        columns = ["name", "episodes", "steps", "seed", "sha256 of the file", "recipe"]
        rows = [
            (name, one["episodes"], one["steps"], one["seed"], one["sha256"][:16], one["about"])
            for name, one in sorted(shipped_records().items())
        ]
        print_table("Shipped datasets", columns, rows, texts=columns[-1:])


DATA_COMMANDS = CommandGroup(
    "Look at, draw, convert and make datasets.",
    {
        "info": DataInfo,
        "plot": DataPlot,
        "convert": DataConvert,
        "make": DataMake,
        "list": DataList,
    },
)


def _labels(paths: tuple[str, ...]) -> list[str]:
    """Return short names: the last part of each path, or the whole where two would be the same."""
    short = [Path(path).stem for path in paths]
    if len(set(paths)) < len(paths):
        raise FarstepError("the same dataset is named twice.")
    return [
        name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)
    ]
