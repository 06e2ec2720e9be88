"""A hook of MkDocs: writes the help of every command into the page that asks for it."""

import contextlib
import io
import os
import re
import sys
from typing import Any

MARK = "<!-- every command's help -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark by the commands."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """Return the help of the program and of each command, as Markdown."""
    first = help_of()
    parts = [f"```text\n{first}\n```"]
    for command in commands(first):
        parts.append(f"## {command}\n\n```text\n{help_of(command)}\n```")
        for deeper in commands(help_of(command)):
            words = f"{command} {deeper}"
            parts.append(f"### {words}\n\n```text\n{help_of(command, deeper)}\n```")
    return "\n\n".join(parts)


def commands(text: str) -> list[str]:
    """Return the commands that a help names."""
    found = re.search(r"\{([a-z,]+)\}", text.split("\n\n")[0])
    return found[1].split(",") if found else []


def help_of(*words: str) -> str:
    """Return what `farstep … --help` prints, without colours."""
    from farstep.cli import main

    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    before, printed = sys.argv, io.StringIO()
    sys.argv = ["farstep", *words, "--help"]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    return re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue()).rstrip()
