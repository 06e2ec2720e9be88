"""What a figure is: rows of results from runs, and a drawing of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar, runtime_checkable

from matplotlib.figure import Figure as Picture

from farstep import ModelEnvConfig
from farstep.plotting.charts import Chart, Table
from farstep.settings import check_choice, check_counts
from farstep.workflows.runs import Run

PRESETS = ("quick", "standard", "paper")
"""Minutes, to try it out; the paper's protocol with smaller budgets for agents; the paper's."""
DATASETS = ("random", "medium", "expert", "expert_noisy")
"""The paper's datasets, by their short names."""
_FAMILY = "cartpole-swingup"

Results: TypeAlias = Mapping[Run, Mapping[str, Any]]
"""The result of every run."""
Values: TypeAlias = Mapping["Row", Mapping[str, Any]]
"""The numbers of every row, by column."""


@runtime_checkable
class _Budget(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seeds(self) -> tuple[int, ...]: ...


Budgeted = TypeVar("Budgeted", bound=_Budget)


@dataclass(frozen=True)
class Plan:
    """How much of a figure to compute."""

    preset: str
    seeds: int | None = None
    """Number of seeds, counting up from 0; None takes the preset's."""

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, PRESETS)
        if self.seeds is not None:
            check_counts({"seeds": 1}, {"seeds": self.seeds})

    def budget(self, budgets: Mapping[str, Budgeted]) -> Budgeted:
        """Return the preset's budget with the plan's seeds."""
        budget = budgets[self.preset]
        seeds = budget.seeds if self.seeds is None else tuple(range(self.seeds))
        return replace(budget, seeds=seeds)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Row:
    """One row of a figure's results: a model, an agent or a trial, with one seed."""

    data: str
    """Name of the dataset or system."""
    model: str
    """As the figure calls it."""
    seed: int | None
    run: Run
    """Its settings and data identify the row."""
    also: tuple[Run, ...] = ()
    """Other runs whose results the row shows."""


@dataclass(frozen=True)
class Drawing:
    """Charts, pictures, tables and notes of a figure."""

    charts: Sequence[Chart] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    """By file name without suffix: drawings without lines."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """By file name without suffix; the part after a slash counts."""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Figure(ABC):
    """One figure or table of the paper."""

    name: str
    about: str
    """A line that describes it."""

    @abstractmethod
    def rows(self, plan: Plan) -> Sequence[Row]:
        """Return the rows that the figure needs; figures may share runs."""

    @abstractmethod
    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return the numbers of a row, given the results of its runs."""

    @abstractmethod
    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the figure, given the numbers of all its rows."""


@dataclass(frozen=True)
class StaticFigure(Figure):
    """A figure without runs, which is the same in every preset."""

    function: Callable[[], Drawing]

    def rows(self, plan: Plan) -> Sequence[Row]:
        """Return nothing."""
        del plan
        return []

    def values(self, row: Row, results: Results) -> dict[str, Any]:
        """Return nothing."""
        del row, results
        return {}

    def draw(self, plan: Plan, values: Values) -> Drawing:
        """Draw the figure."""
        del plan, values
        return self.function()


def long_name(data: str) -> str:
    """Return the name under which one of the paper's datasets is shipped."""
    return f"{_FAMILY}/{data}"


def short_name(data: str) -> str:
    """Return a dataset's name as figures show it."""
    return data.split("/")[-1]


def describe_env(config: ModelEnvConfig) -> str:
    """Return the settings of a model environment, in words."""
    steps, first = config.max_episode_steps, config.initial_states
    start = {"first": "the data's first observations", "any": "any recorded observation"}
    member = {"step": "a random member each step", "rollout": "one member an episode"}
    parts = [
        f"{f'episodes of {steps} steps' if steps else 'full episodes'} from "
        f"{start.get(first, 'the reset of the system')}",
        member.get(config.ensemble_mode or "", ""),
        f"observation noise {config.observation_noise:g}" if config.observation_noise else "",
        "terminated out of bounds" if config.out_of_bounds == "terminate" else "",
    ]
    if config.uncertainty_penalty:
        parts.append(f"a penalty of {config.uncertainty_penalty:g} on {config.uncertainty}")
    return ", ".join(part for part in parts if part)
