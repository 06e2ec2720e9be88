"""fit: episodes in, model out."""

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from farstep.data.episodes import Episodes, check_episodes
from farstep.data.splits import hold_out
from farstep.data.windows import unresolved
from farstep.errors import DataWarning, FarstepError
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.linear import fit_linear
from farstep.models.model import MODEL_FILE, Model, load_model
from farstep.runtime.compilation import check_precision
from farstep.runtime.machine import versions
from farstep.settings import chosen, replaced
from farstep.storage import tensors
from farstep.storage.fingerprint import plain
from farstep.storage.run_directory import RunDirectory
from farstep.training import horizon_choice
from farstep.training.config import PRESETS, FitConfig
from farstep.training.reward import fit_reward
from farstep.training.trainer import Trainer
from farstep.training.weights import Auto, Profile, Uniform, profile


def fit(
    train: Episodes,
    validation: Episodes | None = None,
    config: FitConfig | str | Mapping[str, Any] | None = None,
    *,
    learn_reward: bool = False,
    start: Model | None = None,
    out: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> Model:
    """Fit a model that is accurate many steps ahead.

    Args:
        train: Training data.
        validation: Data that select the best epoch; None holds out a tenth of `train`.
        config: A configuration, the name of a preset (`default`, `ensemble`, `fast` or `paper`),
            or settings by name.
        learn_reward: Also learn the recorded rewards, for a system without a known reward.
        start: A model whose weights the fit starts from, instead of random ones. It must have the
            same network, observations, actions and target; normalisation is from the new data.
        out: A directory for the model, its curves for TensorBoard, and checkpoints: a killed fit
            that is run again continues there, with a bit-identical result.
        force: Start over where `out` holds another model or an unfinished fit.
        **settings: Fields of `FitConfig` to replace, such as `horizon=4`. `weights` may be a text,
            a profile such as `decay(0.75)`, a list of numbers, or a function of the running losses.
    """
    check_precision()
    config, weights = fit_settings(config, settings)
    if config.horizon == 1 and isinstance(weights, Auto):  # there is nothing to choose
        config, weights = replace(config, weights="uniform"), Uniform()
    _check(config, learn_reward, start)
    given = [part for part in (train, validation) if part is not None]
    config, train, validation = _prepared(config, train, validation, learn_reward)
    data = {"train": train.fingerprint, "validation": validation.fingerprint}
    described = {**plain(config), "learn_reward": learn_reward, "start": _digest(start)}
    run = RunDirectory(out, "fit", described, data, outputs=(MODEL_FILE,), force=force)
    with run.open():
        if (stored := _stored(run)) is not None:
            return stored
        began = time.perf_counter()
        dynamics, record = _fitted(train, validation, config, weights, run, start)
        reward = fit_reward(train, validation, config) if learn_reward else None
        seconds = sum(sum(curve["seconds"]) for curve in record.get("curves", []))
        record |= {**data, "fingerprint": run.fingerprint, "versions": versions()}
        record["episodes"] = [one for part in given for one in part.episode_digests]
        record["seconds"] = round(seconds or time.perf_counter() - began, 2)
        model = Model(dynamics, train.signals, train.system, plain(config), record, reward)
        run.finish(_summary(model), {MODEL_FILE: model.to_bytes()})
    return model


def fit_settings(
    config: FitConfig | str | Mapping[str, Any] | None,
    settings: Mapping[str, Any] | None = None,
    default: str = "default",
) -> tuple[FitConfig, Profile]:
    """Return the configuration that a user means, and its horizon weights as a profile.

    Args:
        config: A configuration, a preset's name, settings by name, or None for the default preset.
        settings: Fields that replace those of `config`; `weights` may be all that `profile` takes.
        default: The preset to use where none is named.
    """
    given = {**(config if isinstance(config, Mapping) else {}), **(settings or {})}
    weights = given.pop("weights", None)
    base = chosen(None if isinstance(config, Mapping) else config, PRESETS, default, given)
    found = profile(base.weights if weights is None else weights)
    return replaced(base, {"weights": found.text}), found


def _check(config: FitConfig, learn_reward: bool, start: object) -> None:
    """Fail if arguments contradict each other."""
    if learn_reward and config.fixed_horizon > 1:
        raise FarstepError("learn_reward needs a one-step model; set fixed_horizon to 1.")
    if start is not None and not isinstance(start, Model):
        raise FarstepError(
            f"start must be a model, not a {type(start).__name__}; load_model reads one."
        )
    if start is not None and config.model == "linear":
        raise FarstepError("start does not apply to a linear model; leave it out.")


def _prepared(
    config: FitConfig, train: Episodes, validation: Episodes | None, learn_reward: bool
) -> tuple[FitConfig, Episodes, Episodes]:
    """Return checked data, and the configuration within the limits of the data."""
    for part in (train, *(() if validation is None else (validation,))):
        check_episodes(part)
        if learn_reward and part.rewards is None:
            raise FarstepError("learn_reward needs rewards in the data; leave learn_reward out.")
    if lost := unresolved(train):
        warnings.warn(lost, DataWarning, stacklevel=3)
    config = horizon_choice.within(config, train, validation)
    if validation is None:
        least = 1 if config.model == "linear" else config.window_steps
        return config, *hold_out(train, config.seed, least)
    if not train.signals.same_names(validation.signals):
        raise FarstepError("training and validation data have different observations or actions.")
    return config, train, validation


def _digest(start: Model | None) -> str | None:
    return None if start is None else tensors.digest(tensors.to_arrays(start.dynamics))


def _stored(run: RunDirectory) -> Model | None:
    """Return the model of a finished fit in this directory, if there is one."""
    if run.path is None or run.result() is None or not (run.path / MODEL_FILE).exists():
        return None
    return load_model(run.path / MODEL_FILE)


def _fitted(
    train: Episodes,
    validation: Episodes,
    config: FitConfig,
    weights: Profile,
    run: RunDirectory,
    start: Model | None,
) -> tuple[Dynamics, dict[str, Any]]:
    """Return the fitted dynamics, and the record of their training."""
    if config.model == "linear":
        return fit_linear(train), {}
    record: dict[str, Any] = {}
    first = None if start is None else start.dynamics
    if isinstance(weights, Auto) and config.horizon > 1:
        pilot = Trainer(train, validation, horizon_choice.pilot(config), Uniform())
        dynamics, _ = pilot.fit_member(0, run, pilot=True)
        choice = horizon_choice.choose(dynamics, validation, config.horizon)
        config = replace(config, horizon=choice.horizon)
        record["horizon_choice"] = choice._asdict()
    trainer = Trainer(train, validation, config, weights, first)
    members = [trainer.fit_member(number, run) for number in range(config.ensemble_size)]
    record["curves"] = [curve.to_json() for _, curve in members]
    if len(members) == 1:
        return members[0][0], record
    return Ensemble.of([member for member, _ in members], config.ensemble_mode), record


def _summary(model: Model) -> dict[str, Any]:
    """Return the result of a fit in a few numbers, for `result.json`."""
    curves = model.record.get("curves", [])
    return {
        "horizon": model.horizon,
        "epochs": [len(curve["score"]) for curve in curves],
        "best_epoch": [curve["best_epoch"] + 1 for curve in curves],
        "score": [curve["score"][curve["best_epoch"]] for curve in curves],
        "seconds": model.record["seconds"],
    }
