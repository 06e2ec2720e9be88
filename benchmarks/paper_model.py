"""The paper's network, and its updates per second: what several benchmarks measure."""

import statistics
from typing import Any

from benchmarks.harness import size
from farstep import Model, ModelEnv, fit, load_dataset

DATA = "cartpole-swingup/random"
OBSERVATIONS, ACTIONS, WIDTH, BATCH = 5, 1, 256, 64
"""Sizes of the data, of the network's two hidden layers, and of a batch."""


def paper_model(**settings: Any) -> Model:
    """Return the network after one epoch: it costs as much as one that is fitted well."""
    train, validation, _ = load_dataset(DATA).split()
    return fit(train, validation, "paper", **{"target": "delta", "epochs": 1, **settings})


def paper_env(**settings: Any) -> ModelEnv:
    """Return the network as an environment."""
    return ModelEnv(paper_model(**settings), data=load_dataset(DATA).split().train)


def updates_per_second(horizon: int, **settings: Any) -> float:
    """Return the rate of a fit with these settings, the median over its epochs but the first.

    The validation data are few, so that an epoch's time is that of its updates.
    """
    train, validation, _ = load_dataset(DATA).split()
    train = train.take(range(size(max(36 // horizon, 4), 1)))
    few = validation.take([0]).chunked(max(2 * horizon, 100)).take([0])
    epochs = size(9, 2)
    model = fit(
        train, few, "paper", horizon=horizon, epochs=epochs, patience=None, batch_size=BATCH,
        **settings,
    )  # fmt: skip
    seconds = model.record["curves"][0]["seconds"]
    return -(-train.num_windows(horizon) // BATCH) / statistics.median(seconds[1:])
