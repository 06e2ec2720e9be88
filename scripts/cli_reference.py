"""A hook of MkDocs: writes the help of every command into the page that asks for it."""

import contextlib
import io
import os
import re
from typing import Any

MARK = "<!-- every command's help -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark by the commands."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """Return the help of the program and of each command, as Markdown."""
    from farstep.cli import COMMANDS
    from farstep.cli.command import CommandGroup

    parts = [f"```text\n{help_of()}\n```"]
    for name, command in COMMANDS.items():
        parts.append(f"## {name}\n\n```text\n{help_of(name)}\n```")
        deeper = command.commands if isinstance(command, CommandGroup) else ()
        parts += [f"### {name} {one}\n\n```text\n{help_of(name, one)}\n```" for one in deeper]
    return "\n\n".join(parts)


def help_of(*words: str) -> str:
    """Return what `farstep … --help` prints, without colours."""
    from farstep.cli import main

    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue()).rstrip()
