"""What a dataset holds, in numbers."""

from dataclasses import dataclass

import numpy as np

from farstep.episodes import Episodes, check_episodes

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Dimension:
    """One column of states, actions or rewards."""

    name: str
    unit: str
    low: float
    high: float
    mean: float
    variance: float


@dataclass(frozen=True)
class Summary:
    """Counts, quantiles (at 0, 25, 50, 75 and 100 %) and one line for each dimension."""

    episodes: int
    steps: int
    terminated: int
    truncated: int
    lengths: tuple[float, ...]
    returns: tuple[float, ...] | None
    states: tuple[Dimension, ...]
    actions: tuple[Dimension, ...]
    rewards: Dimension | None


def describe(episodes: Episodes) -> Summary:
    """Return a dataset's summary."""
    check_episodes(episodes)
    signals, returns = episodes.signals, episodes.returns
    return Summary(
        episodes=len(episodes),
        steps=episodes.num_steps,
        terminated=int(episodes.terminated.sum()),
        truncated=int(episodes.truncated.sum()),
        lengths=_quantiles(episodes.lengths),
        returns=None if returns is None else _quantiles(returns),
        states=_dimensions(episodes.states, signals.state_names, signals.state_units),
        actions=_dimensions(episodes.actions, signals.action_names, signals.action_units),
        rewards=None
        if episodes.rewards is None
        else _dimensions(episodes.rewards[:, None], ("reward",), ("",))[0],
    )


def _quantiles(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in np.quantile(values, QUANTILES))


def _dimensions(
    values: np.ndarray, names: tuple[str, ...], units: tuple[str, ...]
) -> tuple[Dimension, ...]:
    values = values.astype(np.float64)
    columns = zip(
        names,
        units,
        values.min(axis=0).tolist(),
        values.max(axis=0).tolist(),
        values.mean(axis=0).tolist(),
        values.var(axis=0).tolist(),
        strict=True,
    )
    return tuple(Dimension(*column) for column in columns)
