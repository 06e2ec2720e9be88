"""Distributions of the datasets' returns and of each observation (the paper's appendix)."""

import numpy as np

from farstep import Episodes, load_dataset
from farstep.plotting.charts import Table
from farstep.plotting.datasets import observations_figure, returns_figure
from reproduction.figure import DATASETS, Drawing, StaticFigure, long_name

LOW, HIGH = 400, 700


def draw_returns() -> Drawing:
    """Draw one violin for each dataset, with a dot for each episode."""
    datasets = _datasets()
    columns = ["dataset", "mean", "least", "median", "most", f"below {LOW}", f"above {HIGH}"]
    rows = []
    for name, data in datasets.items():
        returns = np.asarray(data.returns)
        numbers = [f"{f(returns):.0f}" for f in (np.mean, np.min, np.median, np.max)]
        shares = [f"{np.mean(part):.0%}" for part in (returns < LOW, returns > HIGH)]
        rows.append([name, *numbers, *shares])
    table = Table("Returns", columns, rows)
    return Drawing(pictures={"returns": returns_figure(datasets)}, tables={"returns": table})


def draw_observations() -> Drawing:
    """Draw one panel for each observation, with a violin for each dataset."""
    datasets = _datasets()
    names = next(iter(datasets.values())).signals.observation_names
    rows = [
        [name, *(f"{low:.3g} to {high:.3g} ({var:.2g})" for low, high, var in _ranges(data))]
        for name, data in datasets.items()
    ]
    table = Table("Range (variance)", ["dataset", *names], rows)
    return Drawing(
        pictures={"observations": observations_figure(datasets)}, tables={"observations": table}
    )


def _datasets() -> dict[str, Episodes]:
    return {name: load_dataset(long_name(name)) for name in DATASETS}


def _ranges(data: Episodes) -> list[tuple[float, float, float]]:
    values = data.observations.astype(np.float64)
    return list(zip(values.min(0), values.max(0), values.var(0), strict=True))


RETURNS = StaticFigure("dataset-returns", "returns of the datasets' episodes", draw_returns)
OBSERVATIONS = StaticFigure(
    "dataset-observations", "observations in the datasets", draw_observations
)
