"""From what a user gives to what is scored: named configurations, baselines and the oracle."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp

from farstep.dynamics.contract import Dynamics
from farstep.dynamics.function import FunctionDynamics
from farstep.dynamics.linear import LinearDynamics, fit_linear
from farstep.episodes import Episodes
from farstep.errors import FarstepError
from farstep.model import Model
from farstep.scoring.errors import Predictor, stride_of
from farstep.systems.registry import SYSTEMS, system
from farstep.systems.system import System

Scorable: TypeAlias = Model | Dynamics | Callable[..., Any]
"""A fitted model, a model of dynamics, or a function (states, actions) → next states."""


@dataclass(frozen=True)
class Entry:
    """One line of the table: models of one configuration under one name."""

    name: str
    kind: str
    """`model`, `baseline` or `oracle`."""
    predictors: Sequence[Predictor]

    def __post_init__(self) -> None:
        if len({stride_of(predictor) for predictor in self.predictors}) != 1:
            raise FarstepError(f"'{self.name}' joins models that span different numbers of steps.")


def entries(
    models: Scorable | Sequence[Scorable] | Mapping[str, Scorable | Sequence[Scorable]],
    episodes: Episodes,
) -> list[Entry]:
    """Return the models by name; those in a list are joined where only their seeds differ."""
    if isinstance(models, Mapping):
        named = {str(name): _several(given) for name, given in models.items()}
    else:
        named = _joined(_several(models))
    return [
        Entry(name, "model", [_predictor(name, one, episodes) for one in given])
        for name, given in named.items()
    ]


def baselines(episodes: Episodes, train: Episodes | None) -> list[Entry]:
    """Return persistence, and the linear model where there is data to fit it on."""
    d, k = episodes.signals.num_states, episodes.signals.num_actions
    still = LinearDynamics(
        state_matrix=jnp.eye(d),
        action_matrix=jnp.zeros((d, k)),
        offset=jnp.zeros(d),
        log_std=jnp.full(d, -jnp.inf),
    )
    found = [Entry("persistence", "baseline", [still])]
    return [*found, Entry("linear", "baseline", [fit_linear(train)])] if train else found


def oracle(episodes: Episodes, of: System | str | None = None) -> Entry | None:
    """Return the simulator that the data come from, where it can be set to an observed state.

    A dataset can name a system that comes with Farstep; any other is only looked up when the
    caller names it, since that imports code.
    """
    if of is None and episodes.system in SYSTEMS:
        of = episodes.system
    chosen = system(of) if isinstance(of, str) else of
    if chosen is None or chosen.oracle is None:
        return None
    if chosen.signals.state_names != episodes.signals.state_names:
        return None
    return Entry("oracle", "oracle", [chosen.oracle()])


def _several(given: Any) -> list[Scorable]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _predictor(name: str, given: Scorable, episodes: Episodes) -> Predictor:
    if isinstance(given, Model):
        _check_names(name, given, episodes)
        return given.dynamics
    if isinstance(given, Dynamics):
        return given
    function = FunctionDynamics(function=given)
    function.call(episodes.states[:1].astype("float32"), episodes.actions[:1].astype("float32"))
    return function


def _check_names(name: str, model: Model, episodes: Episodes) -> None:
    for kind in ("state", "action"):
        ours, theirs = (getattr(x.signals, f"{kind}_names") for x in (model, episodes))
        if ours != theirs:
            raise FarstepError(
                f"model '{name}' and the dataset differ in their {kind}s: ({', '.join(ours)}) "
                f"and ({', '.join(theirs)}); score it on data of its own system."
            )


def _joined(models: Sequence[Scorable]) -> dict[str, Sequence[Scorable]]:
    """Join models that differ in their seed alone, and name each by its settings."""
    groups: dict[str, list[Scorable]] = defaultdict(list)
    for number, model in enumerate(models):
        groups[configuration(model) or f"alone {number}"].append(model)
    taken: Counter[str] = Counter()
    named = {}
    for group in groups.values():
        name = label(group[0])
        taken[name] += 1
        named[name if taken[name] == 1 else f"{name} ({taken[name]})"] = group
    return named


def configuration(model: Scorable) -> str | None:
    """Return a text that models share if only their seeds differ; None if that is not known."""
    if not isinstance(model, Model) or not model.config:
        return None
    settings = {name: value for name, value in model.config.items() if name != "seed"}
    return json.dumps([settings, model.record.get("train")], sort_keys=True)


def label(model: Scorable) -> str:
    """Return a short name made of a model's settings, or a function's own."""
    if not isinstance(model, Model) or not model.config:
        return getattr(model, "__name__", type(model).__name__)
    config = model.config
    if config.get("model") == "linear":
        return "linear model"
    parts = [f"h = {config['horizon']}"]
    if config["horizon"] > 1:
        parts.append(str(config["weights"]))
    if config["stride"] > 1:
        parts = [f"direct {config['stride']}", *parts[1:]]
    if config["members"] > 1:
        parts.append(f"{config['members']} members")
    return ", ".join(parts)
