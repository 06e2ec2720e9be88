"""References that `evaluate` adds to the models: two baselines, and the simulator as an oracle."""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp

from farstep.data.episodes import Episodes, check_episodes
from farstep.errors import FarstepError
from farstep.evaluation.candidates import Candidate
from farstep.models.linear import LinearDynamics, fit_linear
from farstep.systems.registry import SYSTEMS, get_system, system_of
from farstep.systems.system import System


def with_references(
    models: Sequence[Candidate],
    episodes: Episodes,
    train: Episodes | None,
    system: System | str | None,
) -> list[Candidate]:
    """Return baselines, models, and the oracle; a model with the name of a reference is renamed."""
    simulator = oracle(episodes, system)
    first, last = baselines(episodes, train), [simulator] if simulator else []
    taken = {one.name for one in (*first, *last)}
    renamed = [
        replace(one, name=f"{one.name} (model)") if one.name in taken else one for one in models
    ]
    return [*first, *renamed, *last]


def baselines(episodes: Episodes, train: Episodes | None) -> list[Candidate]:
    """Return persistence (nothing changes) and, if there are training data, a linear model."""
    d, k = episodes.signals.num_observations, episodes.signals.num_actions
    persistence = LinearDynamics(
        state_matrix=jnp.eye(d),
        action_matrix=jnp.zeros((d, k)),
        offset=jnp.zeros(d),
        log_std=jnp.full(d, -jnp.inf),
    )
    found = [Candidate("persistence", "baseline", [persistence])]
    if train is None:
        return found
    check_episodes(train)
    if not train.signals.same_names(episodes.signals):
        raise FarstepError(
            "train has other observations or actions than the evaluated episodes; pass data of the "
            "same system."
        )
    return [*found, Candidate("linear", "baseline", [fit_linear(train)])]


def oracle(episodes: Episodes, system: System | str | None = None) -> Candidate | None:
    """Return the simulator of the data's system, reset to measured observations.

    By default the dataset names the system, which must come with Farstep: any other system is
    looked up only if the caller names it, since that imports code. None if there is no oracle.
    """
    required = system is not None
    if system is None and episodes.system in SYSTEMS:
        system = system_of(episodes)
    chosen = get_system(system) if isinstance(system, str) else system
    if chosen is None:
        return None
    same_names = chosen.signals.same_names(episodes.signals)
    same_interval = chosen.signals.same_interval(episodes.signals)
    if required and not same_names:
        raise FarstepError(
            f"system '{chosen.name}' has other observations or actions than the dataset; "
            "choose the system of the data."
        )
    if required and not same_interval:
        raise FarstepError(
            f"system '{chosen.name}' has a step of {chosen.signals.interval:g} s, the dataset of "
            f"{episodes.signals.interval:g} s; choose the system of the data."
        )
    if required and chosen.make_oracle is None:
        raise FarstepError(
            f"system '{chosen.name}' has no oracle: it has no simulator that can be reset to an "
            "observation; leave system out."
        )
    if chosen.make_oracle is None or not same_names or not same_interval:
        return None
    chosen.signals.check_units(episodes.signals, f"system '{chosen.name}'", "the dataset")
    return Candidate("oracle", "oracle", [chosen.make_oracle()])
