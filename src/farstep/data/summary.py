"""Summary statistics of a dataset."""

from dataclasses import dataclass

import numpy as np

from farstep.data.episodes import Episodes, check_episodes

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Dimension:
    """One column of observations, actions or rewards."""

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
    observations: tuple[Dimension, ...]
    actions: tuple[Dimension, ...]
    rewards: Dimension | None


def describe(episodes: Episodes) -> Summary:
    """Return summary statistics of a dataset."""
    check_episodes(episodes)
    signals, returns = episodes.signals, episodes.returns
    return Summary(
        episodes=len(episodes),
        steps=episodes.num_steps,
        terminated=int(episodes.terminated.sum()),
        truncated=int(episodes.truncated.sum()),
        lengths=_quantiles(episodes.lengths),
        returns=None if returns is None else _quantiles(returns),
        observations=_dimensions(
            episodes.observations, signals.observation_names, signals.observation_units
        ),
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
    statistics = (np.min, np.max, np.mean, np.var)
    return tuple(
        Dimension(name, unit, *(float(of(column)) for of in statistics))
        for name, unit, column in zip(names, units, values.T.astype(np.float64), strict=True)
    )
