"""The models that a user passes to `evaluate`: checked, named, and grouped by configuration."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from farstep.data.episodes import Episodes
from farstep.errors import FarstepError, one_line
from farstep.evaluation.metrics import Kind
from farstep.evaluation.rollout_errors import Predictor, fixed_horizon_of
from farstep.models.contract import Dynamics
from farstep.models.function import FunctionDynamics
from farstep.models.model import Model
from farstep.models.reward import RewardHead

Evaluable: TypeAlias = Model | Dynamics | Callable[..., Any]
"""A fitted model, its dynamics, or a function (observations, actions) → next observations."""


@dataclass(frozen=True)
class Candidate:
    """The models of one configuration under one name."""

    name: str
    kind: Kind
    predictors: Sequence[Predictor]
    reward_heads: Sequence[RewardHead] = ()
    """The models' learned rewards, if all of them have one."""

    def __post_init__(self) -> None:
        if not self.predictors:
            raise FarstepError(f"models: '{self.name}' must have at least one model.")
        if len({fixed_horizon_of(predictor) for predictor in self.predictors}) != 1:
            raise FarstepError(
                f"models: all models of '{self.name}' must have the same fixed_horizon."
            )


def candidates(
    models: Evaluable | Sequence[Evaluable] | Mapping[str, Evaluable | Sequence[Evaluable]],
    episodes: Episodes,
) -> list[Candidate]:
    """Return the models by name; models of a list that differ in their seed alone share one."""
    if isinstance(models, Mapping):
        named = {str(name): as_list(group) for name, group in models.items()}
    else:
        named = group_by_configuration([(label(model), model) for model in as_list(models)])
    for name, group in named.items():
        _check_different(name, group)
    return [
        Candidate(
            name, "model", [_predictor(name, one, episodes) for one in group], _rewards(group)
        )
        for name, group in named.items()
    ]


def as_list(models: Any) -> list[Evaluable]:
    """Return a list of the models, which may be a single one."""
    return list(models) if isinstance(models, (list, tuple)) else [models]


def group_by_configuration(models: Sequence[tuple[str, Evaluable]]) -> dict[str, list[Evaluable]]:
    """Group models that differ in their seed alone; a single model keeps its own name."""
    groups: dict[str, list[tuple[str, Evaluable]]] = defaultdict(list)
    for number, (name, model) in enumerate(models):
        groups[_configuration(model) or f"single {number}"].append((name, model))
    taken: Counter[str] = Counter()
    named = {}
    for group in groups.values():
        name = group[0][0] if len(group) == 1 else label(group[0][1])
        taken[name] += 1
        free = name if taken[name] == 1 else f"{name} ({taken[name]})"
        named[free] = [model for _, model in group]
    return named


def label(model: Evaluable) -> str:
    """Return a short name made of a model's settings, or a function's own name."""
    if not isinstance(model, Model) or not model.config:
        return getattr(model, "__name__", type(model).__name__)
    config = model.config
    if config.get("model") == "linear":
        return "linear model"
    parts = ["auto"] if config["weights"] == "auto" else [f"h = {config['horizon']}"]
    if config["horizon"] > 1 and config["weights"] != "auto":
        parts.append(str(config["weights"]))
    if config["fixed_horizon"] > 1:
        parts = [f"fixed horizon {config['fixed_horizon']}", *parts[1:]]
    if config["ensemble_size"] > 1:
        parts.append(f"{config['ensemble_size']} members")
    return ", ".join(parts)


def _configuration(model: Evaluable) -> str | None:
    """Return a text that models share if only their seeds differ; None if it is unknown."""
    if not isinstance(model, Model) or not model.config:
        return None
    settings = {name: value for name, value in model.config.items() if name != "seed"}
    return json.dumps([settings, model.record.get("train")], sort_keys=True)


def _predictor(name: str, model: Evaluable, episodes: Episodes) -> Predictor:
    if isinstance(model, Model):
        _check_signals(name, model, episodes)
        return model.dynamics
    if isinstance(model, Dynamics):
        _check_shapes(name, model, episodes)
        return model
    if isinstance(model, (str, Path)):
        raise FarstepError(f"models must be loaded; '{model}' is a path: use farstep.load_model.")
    if not callable(model):
        raise FarstepError(f"models must be models or functions, not {type(model).__name__}.")
    hashable = model if isinstance(model, Hashable) else partial(model)
    function = FunctionDynamics(function=hashable)
    function.call(
        episodes.observations[:1].astype("float32"), episodes.actions[:1].astype("float32")
    )
    return function


def _rewards(models: Sequence[Evaluable]) -> list[RewardHead]:
    heads = [model.reward for model in models if isinstance(model, Model)]
    found = [head for head in heads if head is not None]
    return found if len(found) == len(models) else []


def _check_signals(name: str, model: Model, episodes: Episodes) -> None:
    for kind in ("observation", "action"):
        ours, theirs = (getattr(x.signals, f"{kind}_names") for x in (model, episodes))
        if ours != theirs:
            raise FarstepError(
                f"model '{name}' has the {kind}s ({', '.join(ours)}), the dataset "
                f"({', '.join(theirs)}); evaluate it on data of its own system."
            )
    model.signals.check_units(episodes.signals, f"model '{name}'", "the dataset")


def _check_shapes(name: str, dynamics: Dynamics, episodes: Episodes) -> None:
    d, k = episodes.signals.num_observations, episodes.signals.num_actions
    inputs = (jax.ShapeDtypeStruct((n,), jnp.float32) for n in (d, k * dynamics.fixed_horizon))
    try:
        shape = jax.eval_shape(dynamics.predict, *inputs).mean.shape
    except Exception as error:  # any error that shapes which do not fit can raise
        raise FarstepError(
            f"'{name}' does not take {d} observations and {k} actions: {one_line(error)}"
        ) from error
    if shape != (d,):
        raise FarstepError(f"'{name}' must predict the shape ({d},), not {shape}.")


def _check_different(name: str, models: Sequence[Evaluable]) -> None:
    """Fail if one model is given twice: it would count as two seeds."""
    known = [model.record.get("fingerprint") for model in models if isinstance(model, Model)]
    known = [fingerprint for fingerprint in known if fingerprint]
    if len(set(known)) < len(known):
        raise FarstepError(f"models: '{name}' has the same model twice; pass each seed once.")
