"""Charts and tables as plain values, which `static` and `interactive` draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000",
)  # fmt: skip
"""The palette of Okabe and Ito, for colour-blind readers too."""
Style: TypeAlias = Literal["solid", "dashed", "dotted", "dashdot", "points"]
_FEW = 25


@dataclass(frozen=True)
class Line:
    """y against x, with an optional band from low to high."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    colour: str = COLOURS[0]
    style: Style = "solid"

    @classmethod
    def of_many(
        cls, name: str, x: ArrayLike, values: ArrayLike, colour: str, style: Style = "solid"
    ) -> "Line":
        """Return the mean over rows, without NaN, with a band of one standard deviation."""
        known = np.ma.masked_invalid(np.asarray(values, np.float64))
        mean, std = (np.ma.filled(one(axis=0), np.nan) for one in (known.mean, known.std))
        return cls(name, x, mean, mean - std, mean + std, colour, style)

    @property
    def few(self) -> bool:
        """Whether to mark the points: a line of one point is invisible otherwise."""
        return np.size(self.x) <= _FEW


@dataclass(frozen=True)
class Panel:
    """Some lines in one pair of axes."""

    title: str
    lines: Sequence[Line]
    x_label: str = ""
    y_label: str = ""
    log: bool = False
    """Use a logarithmic y axis."""
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Chart:
    """Some panels side by side; lines of one name share an entry of the legend."""

    name: str
    """File name without suffix."""
    title: str
    panels: Sequence[Panel]
    columns: int = 1
    note: str = ""
    """A sentence below the chart."""

    @property
    def legend(self) -> dict[str, tuple[int, Line]]:
        """The first line of each name, and the number of its panel."""
        found: dict[str, tuple[int, Line]] = {}
        for number, panel in enumerate(self.panels):
            for line in panel.lines:
                found.setdefault(line.name, (number, line))
        return found


def finite(values: ArrayLike) -> np.ndarray:
    """Return the values with NaN in place of infinity, which no chart can show."""
    array = np.asarray(values, np.float64)
    return np.where(np.isfinite(array), array, np.nan)


class Table(NamedTuple):
    """Rows of text below columns."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
