"""`farstep runs`: look at, compare and remove finished runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from farstep.errors import FarstepError, did_you_mean

if TYPE_CHECKING:
    from farstep.runs.store import Store

_WHERE = Path("paper/runs")


@dataclass(frozen=True)
class List:
    """List finished runs, some or all.

    Example: farstep runs list --where kind=offline horizon=4 --folder paper/runs
    """

    folder: Path = _WHERE
    """Directory of runs: `runs` in --out of `farstep reproduce`, or the source tree's `results`."""
    where: tuple[str, ...] = ()
    """Only those with these settings, as NAME=VALUE; settings not listed are the defaults. Of a
    name such as agent.average the last part is enough where it says which."""

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.options import parse_options
        from farstep.cli.tables import print_table
        from farstep.runs.describe import headline, peculiar, selected, shown

        found = selected(list(_store(self.folder).finished()), parse_options(self.where))
        rows = []
        for one, settings in zip(found, peculiar(found), strict=True):
            given = ", ".join(f"{n} {shown(v)}" for n, v in headline(one).items())
            rows.append((one["name"], shown(one["seconds"]), given, settings))
        columns = ["name", "seconds", "result", "where they differ"]
        print_table("Finished runs", columns, rows, texts=columns[2:])
        print(f"{len(rows)} runs in {self.folder}; farstep runs show NAME has all settings of one")


@dataclass(frozen=True)
class Show:
    """Show all that is known of one run.

    Example: farstep runs show fit-0a4c --folder paper/runs
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """As `farstep runs list` has it, or the beginning of it."""
    folder: Path = _WHERE
    """The directory of runs."""

    def run(self) -> None:
        """Print settings, result, versions and files."""
        from farstep.cli.tables import print_table
        from farstep.runs.describe import filled, flat, headline, shown

        record = _records(self.folder, (self.name,))[0]
        rows = [(name, shown(value)) for name, value in flat(filled(record["settings"])).items()]
        rows += [(f"result: {name}", shown(value)) for name, value in headline(record).items()]
        rows += [(f"version: {name}", text) for name, text in record.get("versions", {}).items()]
        others = ("seconds", "revision", "data")
        rows += [(name, shown(record.get(name))) for name in others]
        print_table(record["name"], ["what", "value"], rows)
        for path in sorted((self.folder / record["name"]).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                print(path)


@dataclass(frozen=True)
class Compare:
    """Compare runs: the settings in which they differ, and what each gave.

    Example: farstep runs compare fit-0a4c fit-7be1 --folder paper/runs
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME...")]
    """Two or more, or the beginnings of their names."""
    folder: Path = _WHERE
    """The directory of runs."""

    def run(self) -> None:
        """Print a column for each."""
        from farstep.cli.tables import print_table
        from farstep.runs.describe import differences, headline, shown

        if len(self.names) < 2:
            raise FarstepError("name two runs or more to compare.")
        records = {one["name"]: one for one in _records(self.folder, self.names)}
        rows = [(n, *map(shown, values)) for n, values in differences(records).items()]
        results = [headline(one) for one in records.values()]
        rows += [
            (f"result: {name}", *(shown(one.get(name)) for one in results))
            for name in dict.fromkeys(name for one in results for name in one)
        ]
        rows.append(("seconds", *(shown(one["seconds"]) for one in records.values())))
        print_table("Runs", ["what", *records], rows)


@dataclass(frozen=True)
class Remove:
    """Remove runs with all their files.

    Example: farstep runs remove fit-0a4c5d6e7f801234 --folder paper/runs
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME...")]
    """Whole names, as `farstep runs list` has them."""
    folder: Path = _WHERE
    """The directory of runs."""

    def run(self) -> None:
        """Remove, and say so."""
        store = _store(self.folder)
        for name in self.names:
            store.remove(name)
            print(f"removed {self.folder / name}")


@dataclass(frozen=True)
class Runs:
    """Look at, compare and remove finished runs."""

    command: (
        Annotated[List, tyro.conf.subcommand("list")]
        | Annotated[Show, tyro.conf.subcommand("show")]
        | Annotated[Compare, tyro.conf.subcommand("compare")]
        | Annotated[Remove, tyro.conf.subcommand("remove")]
    )

    def run(self) -> None:
        """Run the chosen one."""
        self.command.run()


def _store(folder: Path) -> "Store":
    from farstep.runs.store import Store

    if not folder.is_dir():
        raise FarstepError(f"there is no directory {folder}; give --folder.")
    return Store(folder)


def _records(folder: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    known = {one["name"]: one for one in _store(folder).finished()}
    found = []
    for name in names:
        fitting = [whole for whole in known if whole == name] or [
            whole for whole in known if whole.startswith(name)
        ]
        if len(fitting) != 1:
            said = did_you_mean(name, known) if known else f"{folder} has none."
            few = f"'{name}' fits {len(fitting)} runs; give more of the name."
            raise FarstepError(few if fitting else f"there is no finished run '{name}'. {said}")
        found.append(known[fitting[0]])
    return found
