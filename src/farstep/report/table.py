"""A table as plain values, for the terminal, Markdown and pages."""

import math
from typing import NamedTuple


class Table(NamedTuple):
    """Rows of text below columns."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    @property
    def markdown(self) -> str:
        """The table for a Markdown page."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_half(mean: float, half: float) -> str:
    """Return a mean with half its interval, which of one value there is none of."""
    return f"{mean:.0f}" if math.isnan(half) else f"{mean:.0f} ± {half:.0f}"
