"""From what a user gives to what is scored: named configurations, baselines and the oracle."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from farstep.dynamics.contract import Dynamics
from farstep.dynamics.function import FunctionDynamics
from farstep.dynamics.linear import LinearDynamics, fit_linear
from farstep.dynamics.reward import RewardHead
from farstep.episodes import Episodes
from farstep.errors import FarstepError, one_line
from farstep.model import Model
from farstep.scoring.errors import Predictor, stride_of
from farstep.systems.registry import SYSTEMS, system, system_of
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
    rewards: Sequence[RewardHead] = ()
    """The models' learned rewards, if all of them have one."""

    def __post_init__(self) -> None:
        if not self.predictors:
            raise FarstepError(f"'{self.name}' has no model.")
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
        several = _several(models)
        named = joined([(label(model), model) for model in several])
    for name, given in named.items():
        _check_different(name, given)
    return [
        Entry(name, "model", [_predictor(name, one, episodes) for one in given], _rewards(given))
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


def told_apart(models: Sequence[Entry], others: Sequence[Entry]) -> list[Entry]:
    """Return models and others under different names; a model gives way."""
    taken = {entry.name for entry in others}
    return [
        replace(entry, name=f"{entry.name} (model)") if entry.name in taken else entry
        for entry in models
    ]


def oracle(episodes: Episodes, of: System | str | None = None) -> Entry | None:
    """Return the simulator that the data come from, where it can be set to an observed state.

    A dataset can name a system that comes with Farstep; any other is only looked up when the
    caller names it, since that imports code.
    """
    named = of is not None
    if of is None and episodes.system in SYSTEMS:
        of = system_of(episodes)
    chosen = system(of) if isinstance(of, str) else of
    if chosen is None:
        return None
    alike = chosen.signals.same_names(episodes.signals)
    as_long = chosen.signals.same_interval(episodes.signals)
    if named and not alike:
        raise FarstepError(f"system '{chosen.name}' has other states or actions than the dataset.")
    if named and not as_long:
        raise FarstepError(
            f"a step of system '{chosen.name}' is {chosen.signals.interval:g} s, one of the "
            f"dataset {episodes.signals.interval:g} s."
        )
    if named and chosen.oracle is None:
        raise FarstepError(f"system '{chosen.name}' cannot be set to a state: it has no oracle.")
    if chosen.oracle is None or not alike or not as_long:
        return None
    chosen.signals.check_units(episodes.signals, f"system '{chosen.name}'", "the dataset")
    return Entry("oracle", "oracle", [chosen.oracle()])


def _several(given: Any) -> list[Scorable]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _predictor(name: str, given: Scorable, episodes: Episodes) -> Predictor:
    if isinstance(given, Model):
        _check_names(name, given, episodes)
        return given.dynamics
    if isinstance(given, Dynamics):
        _check_shapes(name, given, episodes)
        return given
    if isinstance(given, (str, Path)):
        raise FarstepError(f"'{given}' is a path; load it with farstep.load_model.")
    hashable = given if isinstance(given, Hashable) else partial(given)
    function = FunctionDynamics(function=hashable)
    function.call(episodes.states[:1].astype("float32"), episodes.actions[:1].astype("float32"))
    return function


def _rewards(models: Sequence[Scorable]) -> list[RewardHead]:
    heads = [model.reward for model in models if isinstance(model, Model)]
    found = [head for head in heads if head is not None]
    return found if len(found) == len(models) else []


def _check_names(name: str, model: Model, episodes: Episodes) -> None:
    for kind in ("state", "action"):
        ours, theirs = (getattr(x.signals, f"{kind}_names") for x in (model, episodes))
        if ours != theirs:
            raise FarstepError(
                f"model '{name}' and the dataset differ in their {kind}s: ({', '.join(ours)}) "
                f"and ({', '.join(theirs)}); score it on data of its own system."
            )
    model.signals.check_units(episodes.signals, f"model '{name}'", "the dataset")


def _check_shapes(name: str, dynamics: Dynamics, episodes: Episodes) -> None:
    d, k = episodes.signals.num_states, episodes.signals.num_actions
    inputs = (jax.ShapeDtypeStruct((n,), jnp.float32) for n in (d, k * dynamics.stride))
    try:
        found = jax.eval_shape(dynamics.predict, *inputs).mean.shape
    except Exception as error:  # whatever shapes that do not fit raise inside it
        raise FarstepError(
            f"'{name}' does not take {d} states and {k} actions: {one_line(error)}"
        ) from error
    if found != (d,):
        raise FarstepError(f"'{name}' predicts {found} for {d} states.")


def _check_different(name: str, models: Sequence[Scorable]) -> None:
    """Fail if one model is given twice: it would pass for two seeds."""
    known = [model.record.get("identity") for model in models if isinstance(model, Model)]
    known = [identity for identity in known if identity]
    if len(set(known)) < len(known):
        raise FarstepError(f"'{name}' has the same model twice; give each seed once.")


def joined(models: Sequence[tuple[str, Scorable]]) -> dict[str, list[Scorable]]:
    """Join models that differ in their seed alone; only one that stands alone keeps its name."""
    groups: dict[str, list[tuple[str, Scorable]]] = defaultdict(list)
    for number, (name, model) in enumerate(models):
        groups[configuration(model) or f"alone {number}"].append((name, model))
    taken: Counter[str] = Counter()
    named = {}
    for group in groups.values():
        name = group[0][0] if len(group) == 1 else label(group[0][1])
        taken[name] += 1
        free = name if taken[name] == 1 else f"{name} ({taken[name]})"
        named[free] = [model for _, model in group]
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
    parts = ["auto"] if config["weights"] == "auto" else [f"h = {config['horizon']}"]
    if config["horizon"] > 1 and config["weights"] != "auto":
        parts.append(str(config["weights"]))
    if config["stride"] > 1:
        parts = [f"direct {config['stride']}", *parts[1:]]
    if config["members"] > 1:
        parts.append(f"{config['members']} members")
    return ", ".join(parts)
