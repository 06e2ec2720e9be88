"""Distributions of the datasets' returns and of each observable (the paper's appendix)."""

import numpy as np

from farstep.datasets.reading import read
from farstep.episodes import Episodes
from farstep.exhibits.exhibit import DATASETS, Drawing, Shown, whole
from farstep.report.datasets import returns_figure, states_figure
from farstep.report.table import Table

POOR, GOOD = 400, 700


def draw_returns() -> Shown:
    """Draw one violin for each dataset, with a dot for each episode."""
    datasets = _datasets()
    columns = ["dataset", "mean", "least", "median", "most", f"below {POOR}", f"above {GOOD}"]
    rows = []
    for name, data in datasets.items():
        returns = np.asarray(data.returns)
        numbers = [f"{f(returns):.0f}" for f in (np.mean, np.min, np.median, np.max)]
        shares = [f"{np.mean(part):.0%}" for part in (returns < POOR, returns > GOOD)]
        rows.append([name, *numbers, *shares])
    table = Table("Returns", columns, rows)
    return Shown(figures={"returns": returns_figure(datasets)}, tables={"returns": table})


def draw_states() -> Shown:
    """One panel for each observable, a violin for each dataset."""
    datasets = _datasets()
    names = next(iter(datasets.values())).signals.state_names
    rows = [
        [label, *(f"{low:.3g} to {high:.3g} ({var:.2g})" for low, high, var in _ranges(data))]
        for label, data in datasets.items()
    ]
    table = Table("Range (variance)", ["dataset", *names], rows)
    return Shown(figures={"states": states_figure(datasets)}, tables={"states": table})


def _datasets() -> dict[str, Episodes]:
    return {name: read(whole(name)) for name in DATASETS}


def _ranges(data: Episodes) -> list[tuple[float, float, float]]:
    states = data.states.astype(np.float64)
    return list(zip(states.min(0), states.max(0), states.var(0), strict=True))


RETURNS = Drawing("dataset-returns", "returns of the datasets' episodes", draw_returns)
STATES = Drawing("dataset-states", "observables in the datasets", draw_states)
