"""Options given on the command line as NAME=VALUE."""

import json
from collections.abc import Sequence
from typing import Any

from farstep.errors import FarstepError

_WORDS = {"None": "null", "True": "true", "False": "false"}
"""Of Python, in JSON; `none` is the name of a choice."""


def given(**options: Any) -> dict[str, Any]:
    """Return the options that have a value; the others are left to the preset."""
    return {name: value for name, value in options.items() if value is not None}


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Return the options by name; values are JSON or Python's None, True, False, else text."""
    options = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not all(part.isidentifier() for part in name.split(".")):
            raise FarstepError(f"'{pair}' is not of the form NAME=VALUE, such as horizon=4.")
        try:
            options[name] = json.loads(_WORDS.get(text, text))
        except ValueError:
            options[name] = text
    return options
