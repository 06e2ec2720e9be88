"""The `farstep` command: parses, calls, prints. What it does is in the library."""

import os
import sys
import warnings

from farstep.cli.collect import Collect
from farstep.cli.data import Data
from farstep.cli.doctor import Doctor
from farstep.cli.fit import Fit
from farstep.cli.iterate import Iterate
from farstep.cli.offline import Offline
from farstep.cli.parsing import parse
from farstep.cli.report import Report
from farstep.cli.reproduce import Reproduce
from farstep.cli.runs import Runs
from farstep.cli.score import Score
from farstep.cli.systems import Systems
from farstep.cli.train import Train
from farstep.cli.tune import Tune
from farstep.errors import DataWarning, FarstepError
from farstep.processes import STOPPED, ctrl_c_ends_at_once

COMMANDS = {
    "collect": Collect,
    "data": Data,
    "doctor": Doctor,
    "fit": Fit,
    "iterate": Iterate,
    "offline": Offline,
    "report": Report,
    "reproduce": Reproduce,
    "runs": Runs,
    "score": Score,
    "systems": Systems,
    "train": Train,
    "tune": Tune,
}
_ABOUT = (
    "One-step dynamics models that stay accurate many steps ahead. `farstep COMMAND --help` says "
    "more of a command, with an example; `farstep --version` prints the version."
)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    if sys.argv[1:] == ["--version"]:
        from farstep import __version__

        print(__version__)
        return
    try:
        command = parse(COMMANDS, _ABOUT)
        with warnings.catch_warnings(), ctrl_c_ends_at_once():
            warnings.simplefilter("always", DataWarning)
            warnings.showwarning = _note
            command.run()
    except FarstepError as error:
        print(f"farstep: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        sys.exit(130)


def _note(message: Warning | str, *_: object) -> None:
    print(f"note: {message}", file=sys.stderr)
