"""Reading the command line with tyro, whose boxes of complaints become one line."""

import contextlib
import functools
import io
import operator
import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_type_hints

import tyro

from farstep.errors import FarstepError

_WIDE = "9999"
"""Columns of a terminal on which nothing is wrapped."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_RULE = re.compile(r" {0,2}([╭╰].*|─{4,}|-{4,})")
_INDENTED = range(2, 9)
"""Blanks before what is kept: fewer stand before a title, more before the help of an option."""
_GUESSES = ("Perhaps you meant:", "Arguments similar to ")
_LEFT_OUT = ("For full helptext, ", "Argument helptext:")
_OWN = r"Error parsing \S*__tyro\S*: "
"""Before what Farstep itself says of a value."""
_OTHER_WORDS = {
    r"invalid literal for int\(\) with base 10: ": "it must be a whole number, not ",
    r"could not convert string to float: ": "it must be a number, not ",
    r" \(applied to farstep[a-z ]*\)": "",
    r" *Arguments are applied to the directly preceding subcommand, so ordering can matter": "",
    r"Expected 1 values": "Expected 1 value",
}
"""For what Python, or tyro, says of its own insides."""


def parse(commands: Mapping[str, type], about: str) -> Any:
    """Return the command that was given; what cannot be understood is a `FarstepError`.

    Args:
        commands: By name, dataclasses of what can be given.
        about: What the program is for, in its help.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            found = _parsed(commands, about)
    except SystemExit as stop:
        if stop.code != 2:
            sys.stderr.write(said.getvalue())
            raise
    else:
        sys.stderr.write(said.getvalue())
        return found
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit), _wide():
        _parsed(commands, about)  # again, for words that are not broken at the terminal's edge
    raise FarstepError(in_one_line(said.getvalue(), " ".join(["farstep", *_called(commands)])))


def _called(commands: Mapping[str, type]) -> list[str]:
    """Return the words of the command line that name a command, and one below it."""
    word, deeper = [*sys.argv[1:3], "", ""][:2]
    if word not in commands:
        return []
    below = get_type_hints(commands[word], include_extras=True).get("command")
    names = [one.__metadata__[0].name for one in get_args(below)]
    return [word, deeper] if deeper in names else [word]


def _parsed(commands: Mapping[str, type], about: str) -> Any:
    overview = sys.argv[1:] in (["-h"], ["--help"])
    kinds = [
        Annotated[kind, tyro.conf.subcommand(name, description=_gist(kind) if overview else None)]
        for name, kind in commands.items()
    ]
    union: Any = functools.reduce(operator.or_, kinds)
    return tyro.cli(
        union,
        prog="farstep",
        description=about,
        config=(
            tyro.conf.FlagCreatePairsOff,
            tyro.conf.OmitArgPrefixes,
            tyro.conf.OmitSubcommandPrefixes,
        ),
    )


def _gist(command: type) -> str:
    """Return the first paragraph of what a command says of itself."""
    return (command.__doc__ or "").partition("\n\n")[0]


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDE
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def in_one_line(box: str, command: str) -> str:
    """Return what a box of tyro's says: its sections one after the other, without their help.

    Args:
        box: What tyro printed, with borders or without.
        command: What was called, such as `farstep fit`; options of others are not suggested.
    """
    sections: list[list[str]] = [[]]
    for line in _ESCAPES.sub("", box).splitlines():
        inner = re.sub("^│|│$", " ", line.rstrip()).rstrip()
        if _RULE.fullmatch(inner):
            sections.append([])
        else:
            sections[-1].append(inner)
    said = [_section(lines, command) for lines in sections]
    whole = "; ".join(part for part in said if part)
    for pattern, words in _OTHER_WORDS.items():
        whole = re.sub(pattern, words, whole)
    if not whole:
        return " ".join(box.split())
    own = re.sub(_OWN, "", whole)
    return f"{own}." if own != whole else f"{whole}; see {command} --help."


def _section(lines: list[str], command: str) -> str:
    """Return one section on one line; nothing of one that is left out."""
    kept = [line.strip() for line in lines if _indent(line) in _INDENTED]
    if not kept or kept[0].startswith(_LEFT_OUT):
        return ""
    if kept[0].startswith(_GUESSES):
        options = _options(lines[1:], command)
        return f"{kept[0]} {', '.join(options)}" if options else ""
    return " ".join(kept).strip().rstrip(".")


def _options(lines: list[str], command: str) -> list[str]:
    """Return the options among tyro's guesses that this command has."""
    found, option = [], ""
    for line in lines:
        if _indent(line) in _INDENTED:
            option = line.strip()
        elif re.match(rf"in {command}\b", line.strip()) and option not in found:
            found.append(option)
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
