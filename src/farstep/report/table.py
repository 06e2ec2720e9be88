"""A table as plain values, for the terminal, Markdown and pages."""

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
