"""What an exhibit of the paper is: runs, and what is shown of their results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from matplotlib.figure import Figure

from farstep.report.charts import Chart
from farstep.report.table import Table
from farstep.runs.run import Run

Results: TypeAlias = Mapping[Run, Mapping[str, Any]]
"""What runs gave."""
PRESETS = ("quick", "standard", "paper")
"""Minutes, and said so; the paper's protocol with smaller budgets of agents; the paper's."""
DATASETS = ("random", "medium", "expert", "expert_noisy")
"""The paper's, as figures show their names."""
_FAMILY = "cartpole-swingup"


@runtime_checkable
class _Budget(Protocol):
    """A frozen dataclass that says what a preset computes, and so with which seeds."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seeds(self) -> tuple[int, ...]: ...


Budgeted = TypeVar("Budgeted", bound=_Budget)


@dataclass(frozen=True)
class Plan:
    """How much of an exhibit is computed."""

    preset: str
    seeds: int | None = None
    """How many, counting up from 0; without it the preset's."""

    def of(self, budgets: Mapping[str, Budgeted]) -> Budgeted:
        """Return the preset's budget, with this plan's seeds."""
        budget = budgets[self.preset]
        return replace(budget, seeds=self.seeds_of(budget.seeds))  # pyright: ignore[reportReturnType]

    def seeds_of(self, usual: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds, given the preset's."""
        return usual if self.seeds is None else tuple(range(self.seeds))


@dataclass(frozen=True)
class Shown:
    """What a reader of an exhibit sees."""

    charts: Sequence[Chart] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By the name of the file: pictures that are not lines."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """By the name of the file; a slash begins a name anew."""
    notes: Sequence[str] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """For scores.json; nothing is written if it is empty."""


@runtime_checkable
class Exhibit(Protocol):
    """One figure or table of the paper."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    @property
    def about(self) -> str:
        """What it shows, in one line."""
        ...

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return what has to be computed; exhibits may share runs."""
        ...

    def show(self, plan: Plan, results: Results) -> Shown:
        """Return what is shown, given the results of all its runs."""
        ...


@dataclass(frozen=True)
class Drawing:
    """An exhibit for which nothing is computed; it is the same in every preset."""

    name: str
    about: str
    draw: Callable[[], Shown]

    def runs(self, plan: Plan) -> Sequence[Run]:
        """Return nothing."""
        del plan
        return []

    def show(self, plan: Plan, results: Results) -> Shown:
        """Draw."""
        del plan, results
        return self.draw()


def whole(name: str) -> str:
    """Return the name by which one of the paper's datasets is shipped."""
    return f"{_FAMILY}/{name}"


def short(data: str) -> str:
    """Return a dataset's name as a figure shows it."""
    return data.split("/")[-1]
