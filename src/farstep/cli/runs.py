"""`farstep runs`: list, show, compare and remove the runs in a directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from farstep.cli.command import Command, CommandGroup
from farstep.cli.options import NamedValues
from farstep.errors import FarstepError

Names = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME [NAME …]")]


@dataclass(frozen=True)
class RunsList(Command):
    """List the finished runs in a directory: fits, agents, workflows and sweeps.

    Example: farstep runs list --folder models --where kind fit horizon 4
    """

    folder: Path = Path()
    """Directory to search, with all directories in it."""
    where: NamedValues = field(default_factory=dict)
    """Only runs with these settings, such as fit.horizon 4; the last part of a name is enough."""
    nested: bool = False
    """Also list runs inside other runs, such as the model of an offline run."""

    def run(self) -> None:
        """Print one line for each."""
        from farstep.cli.tables import print_table
        from farstep.storage.run_directory import finished_runs
        from farstep.workflows.describe_runs import (
            distinguishing,
            headline,
            outermost,
            selected,
            shown,
        )

        found = finished_runs(_directory(self.folder))
        found = selected(found if self.nested else outermost(found), self.where)
        runs = list(found.values())
        rows = [
            (name, run["kind"], run.get("cpu_seconds"), _pairs(headline(run)), settings)
            for (name, run), settings in zip(found.items(), distinguishing(runs), strict=True)
        ]
        columns = ["name", "kind", "CPU seconds", "result", "settings that differ"]
        rows = [(name, kind, shown(s), *texts) for name, kind, s, *texts in rows]
        print_table("Finished runs", columns, rows, texts=["kind", *columns[3:]])
        print(f"{len(rows)} run(s) in {self.folder}; `farstep runs show NAME` describes one")


@dataclass(frozen=True)
class RunsShow(Command):
    """Show the settings, the result and the files of a run.

    Example: farstep runs show seed-0/model --folder offline
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """The name that `farstep runs list` shows."""
    folder: Path = Path()
    """The directory of runs."""

    def run(self) -> None:
        """Print settings, result, versions and files."""
        from farstep.cli.tables import print_table
        from farstep.storage.run_directory import run_named
        from farstep.workflows.describe_runs import headline, settings_of, shown

        run = run_named(_directory(self.folder), self.name)
        rows = [(name, shown(value)) for name, value in settings_of(run).items()]
        rows += [(f"result: {name}", shown(value)) for name, value in headline(run).items()]
        rows += [(f"version: {name}", text) for name, text in run["versions"].items()]
        rows += [("CPU seconds", shown(run.get("cpu_seconds"))), ("machine", run.get("machine"))]
        print_table(self.name, ["name", "value"], rows, texts=["value"])
        for path in sorted((self.folder / self.name).iterdir()):
            if path.is_file() and not path.name.startswith("."):
                print(path)


@dataclass(frozen=True)
class RunsCompare(Command):
    """Compare the settings in which runs differ, and their results.

    Example: farstep runs compare models/h1 models/h4
    """

    names: Names
    """Two or more names that `farstep runs list` shows."""
    folder: Path = Path()
    """The directory of runs."""

    def run(self) -> None:
        """Print a column for each."""
        from farstep.cli.tables import print_table
        from farstep.storage.run_directory import run_named
        from farstep.workflows.describe_runs import differences, headline, shown

        names = list(dict.fromkeys(self.names))
        if len(names) < 2:
            raise FarstepError("compare needs the names of two or more runs.")
        runs = [run_named(_directory(self.folder), name) for name in names]
        rows = [(name, *map(shown, values)) for name, values in differences(runs).items()]
        results = [headline(run) for run in runs]
        rows += [
            (f"result: {name}", *(shown(result.get(name)) for result in results))
            for name in dict.fromkeys(name for result in results for name in result)
        ]
        rows.append(("CPU seconds", *(shown(run.get("cpu_seconds")) for run in runs)))
        print_table("Runs", ["", *names], rows)


@dataclass(frozen=True)
class RunsRemove(Command):
    """Remove runs with all their files, whether they are finished or not.

    Example: farstep runs remove models/h1 models/h4
    """

    names: Names
    """Directories of runs, relative to --folder."""
    folder: Path = Path()
    """The directory of runs."""

    def run(self) -> None:
        """Remove, and print what was removed."""
        from farstep.workflows.describe_runs import remove

        for name in self.names:
            remove(_directory(self.folder), name)
            print(f"removed {self.folder / name}")


RUN_COMMANDS = CommandGroup(
    "List, show, compare and remove the runs in a directory.",
    {"list": RunsList, "show": RunsShow, "compare": RunsCompare, "remove": RunsRemove},
)


def _directory(folder: Path) -> Path:
    if not folder.is_dir():
        raise FarstepError(f"there is no directory {folder}; pass another --folder.")
    return folder


def _pairs(values: dict[str, float]) -> str:
    from farstep.workflows.describe_runs import shown

    return ", ".join(f"{name} {shown(value)}" for name, value in values.items())
