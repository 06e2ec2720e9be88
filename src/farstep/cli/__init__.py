"""The `farstep` command: parse, call the library, print. The work itself is in the library."""

import os
import sys
import warnings
from collections.abc import Sequence

from farstep.cli.collect import Collect
from farstep.cli.command import Command, CommandGroup
from farstep.cli.data import DATA_COMMANDS
from farstep.cli.doctor import Doctor
from farstep.cli.evaluate import Evaluate
from farstep.cli.fit import Fit
from farstep.cli.iterate import Iterate
from farstep.cli.offline import Offline
from farstep.cli.parse import parse, preliminary
from farstep.cli.runs import RUN_COMMANDS
from farstep.cli.systems import Systems
from farstep.cli.train_agent import TrainAgent
from farstep.cli.tune import Tune
from farstep.errors import DataWarning, FarstepError
from farstep.runtime.processes import STOPPED, ctrl_c_ends_at_once

COMMANDS: dict[str, type[Command] | CommandGroup] = {
    "collect": Collect,
    "data": DATA_COMMANDS,
    "doctor": Doctor,
    "evaluate": Evaluate,
    "fit": Fit,
    "iterate": Iterate,
    "offline": Offline,
    "runs": RUN_COMMANDS,
    "systems": Systems,
    "train-agent": TrainAgent,
    "tune": Tune,
}
_ABOUT = (
    "One-step dynamics models that stay accurate many steps ahead. `farstep COMMAND --help` "
    "describes a command and has an example; `farstep --version` prints the version."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; bad input is one line on standard error and exit code 2.

    Args:
        arguments: Words of the command line, by default those of this process.
    """
    try:
        given = preliminary(arguments)
        if given.version and given.command is None:
            from farstep import __version__

            print(__version__)
            return
        command = parse(COMMANDS, _ABOUT, given, arguments)
        with warnings.catch_warnings(), ctrl_c_ends_at_once():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _note
            command.run()
    except FarstepError as error:
        print(f"farstep: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # as `farstep … | head` causes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        sys.exit(130)


def _note(message: Warning | str, *_: object) -> None:
    print(f"note: {message}", file=sys.stderr)
