"""Errors and warnings: one line with the problem, the place and the remedy."""

import difflib
from collections.abc import Iterable


class FarstepError(ValueError):
    """Bad input or a fault of the machine, reported in one line.

    The command line prints the line and exits with code 2.
    """


class DivergedError(FarstepError):
    """A fit whose loss or validation metric is not finite."""


class DataWarning(UserWarning):
    """Something about the data that is legal but worth knowing, such as a dropped last action."""


def did_you_mean(name: object, known: Iterable[str], unlisted: Iterable[str] = ()) -> str:
    """Return a sentence that lists `known`, led by the nearest to `name` if one is near.

    What is `unlisted` may be the nearest too: there may be hundreds of them.
    """
    known = list(known)
    lower = {candidate.lower(): candidate for candidate in (*known, *unlisted)}
    near = difflib.get_close_matches(str(name).lower(), lower, n=1, cutoff=0.5)
    guess = f"Did you mean '{lower[near[0]]}'? " if near else ""
    return f"{guess}Known: {', '.join(known) if known else 'none'}."


def one_line(error: BaseException) -> str:
    """Return the first line of another library's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
