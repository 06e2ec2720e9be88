"""fit: episodes in, model out."""

import dataclasses
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from farstep import tensors
from farstep.checks import check_horizon, unresolved
from farstep.choices import truncation
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.linear import fit_linear
from farstep.dynamics.network import NetworkShape
from farstep.dynamics.network_dynamics import Form, NetworkDynamics
from farstep.dynamics.scaling import Scaling
from farstep.episodes import Episodes, check_episodes
from farstep.errors import DataWarning, DivergedError, FarstepError
from farstep.fields import changed, identity_of
from farstep.files import check_output, locked, remove_parts
from farstep.fitting import auto
from farstep.fitting.checkpoint import Checkpoint, Checkpoints
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.curve import Curve
from farstep.fitting.held_out import hold_out
from farstep.fitting.optimiser import optimiser
from farstep.fitting.reward import fit_reward
from farstep.fitting.settings import fit_settings
from farstep.fitting.training import (
    Recipe,
    batch_sizes,
    begun_from,
    initial_state,
    train_epoch,
    with_state,
)
from farstep.fitting.validation import residual_std, validate
from farstep.model import MODEL_FILE, Model, load_model
from farstep.objective import Objective
from farstep.packages import versions
from farstep.programs import check_precision
from farstep.progress import Bar
from farstep.tensorboard import TensorBoard
from farstep.weights import Auto, Losses, Profile, Uniform
from farstep.windows import Windows

_FIT, _PILOT = "fit", "pilot"
_LEAST_UPDATES = 50
"""Of an epoch, where updates are counted: what follows each costs as much as some of them."""

VERSIONS = ("farstep", "jax", "equinox", "optax", "numpy")


def fit(
    train: Episodes,
    validation: Episodes | None = None,
    config: FitConfig | str = "recommended",
    *,
    weights: str | Profile | Callable[[Losses], Losses] | Sequence[float | int] | None = None,
    learn_reward: bool = False,
    start: Model | None = None,
    out: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> Model:
    """Fit a model that is accurate many steps ahead.

    Args:
        train: What it learns from.
        validation: What decides when to stop; without it a tenth of `train` is held out.
        config: The settings, or the name of a preset: `recommended`, `ensemble` (three of these,
            with an observer), `brief` (half as long) or `paper`. Settings given by name replace
            its fields.
        weights: Of the horizons: a profile such as `decay(0.75)`, its text, a list of numbers, or
            a function of the running losses.
        learn_reward: Fit the recorded rewards too, for systems whose reward is not known.
        start: A model of the same form whose numbers this one begins with, in place of random
            ones; scales are of the new data all the same.
        out: A directory for the model, the training curve for TensorBoard, and checkpoints: a
            fit that was killed continues from there, to the same result.
        force: Start over where `out` holds another model or an unfinished fit.
        **settings: Fields of `FitConfig`, such as `horizon=4`.
    """
    check_precision()
    config, chosen = fit_settings(config, {**settings, "weights": weights})
    _check(config, learn_reward, start)
    config, train, validation = _data(config, train, validation, learn_reward)
    folder = None if out is None else Path(out)
    extra: dict[str, Any] = {"learn_reward": True} if learn_reward else {}
    if start is not None:
        extra["start"] = tensors.digest(tensors.to_arrays(start.dynamics))
    record = _record(train, validation, config, chosen, extra)
    checkpoints = Checkpoints(folder, record["identity"], force)

    def new() -> Model:
        more: dict[str, Any] = {}
        if config.model == "linear":
            dynamics: Dynamics = fit_linear(train)
        else:
            run = FitRun(train, validation, config, chosen, start and start.dynamics)
            dynamics, more = _fitted(run, checkpoints)
        reward = fit_reward(train, validation, config) if learn_reward else None
        settings = dataclasses.asdict(config)
        return Model(dynamics, train.signals, train.system, settings, {**record, **more}, reward)

    return new() if folder is None else _stored(folder, checkpoints, new)


def _stored(folder: Path, checkpoints: Checkpoints, new: Callable[[], Model]) -> Model:
    """Return the model of a directory; of two processes that fit it, one does and one waits."""
    force, path = checkpoints.replace, folder / MODEL_FILE
    with locked(folder):
        model = None if force else _finished(folder, checkpoints.identity)
        if model is None:
            if path.exists() and not force:
                raise FarstepError(
                    f"{path} exists already, fitted with other settings or data, and is left as it "
                    "is; choose another place, or pass --force (force=True) to start over."
                )
            check_output(path, force)
            checkpoints.check()
            model = new()
            model.save(path, force)
        checkpoints.remove()
        dataclasses.replace(checkpoints, name=_PILOT).remove()
        remove_parts(folder)
        return model


def _check(config: FitConfig, learn_reward: bool, start: object) -> None:
    """Fail if what is asked for does not go together."""
    if learn_reward and config.stride > 1:
        raise FarstepError("a reward is learned of single steps; leave stride at 1.")
    if start is not None and not isinstance(start, Model):
        raise FarstepError(f"a {type(start).__name__} is no model to start from; see load_model.")
    if start is not None and config.model == "linear":
        raise FarstepError("a linear model has one solution; it does not start from another.")


def _record(
    train: Episodes,
    validation: Episodes,
    config: FitConfig,
    weights: Profile,
    extra: dict[str, Any],
) -> dict[str, Any]:
    """Return what a model keeps of its making; fits of the same identity give the same model."""
    data = {"train": train.fingerprint, "validation": validation.fingerprint}
    told = changed(config, PAPER)
    identity = identity_of(config=told, weights_source=weights.source, **data, **extra)
    return {**data, "identity": identity, "versions": versions(VERSIONS)}


def _with_horizon(run: "FitRun", checkpoints: Checkpoints) -> tuple["FitRun", dict[str, Any]]:
    """Return the fit with the horizon that a pilot's errors call for, and those errors."""
    if checkpoints.replace:  # killed in the pilot, this fit would find those of another
        checkpoints.remove()
    config = auto.pilot(run.config)
    first = FitRun(run.train, run.validation, config, Uniform(), name=_PILOT)
    dynamics, _ = first.member(0, dataclasses.replace(checkpoints, name=_PILOT))
    found = auto.choose(dynamics, run.validation, run.config.horizon)
    config = dataclasses.replace(run.config, horizon=found.horizon)
    return dataclasses.replace(run, config=config), found._asdict()


def _fitted(run: "FitRun", checkpoints: Checkpoints) -> tuple[Dynamics, dict[str, Any]]:
    """Return the model of all members, and what there is to record."""
    record: dict[str, Any] = {}
    if isinstance(run.profile, Auto) and run.config.horizon > 1:
        run, record["auto"] = _with_horizon(run, checkpoints)
    members = [run.member(number, checkpoints) for number in range(run.config.members)]
    record["curves"] = [curve.to_json() for _, curve in members]
    if len(members) == 1:
        return members[0][0], record
    return Ensemble.of([member for member, _ in members], run.config.choice), record


@dataclasses.dataclass
class FitRun:
    """One fit: the data on the device, and the loop over epochs."""

    train: Episodes
    validation: Episodes
    config: FitConfig
    profile: Profile
    start: Dynamics | None = None
    name: str = _FIT

    def __post_init__(self) -> None:
        config = self.config
        check_horizon(config.span, self.train.lengths)
        check_horizon(config.span, self.validation.lengths)
        self.profile.check(config.horizon)
        self.train.signals.check_angles(config.angles)
        self.windows = Windows.of(self.train, config.span, room=True)
        self.validation_windows = Windows.of(self.validation, config.span, room=True)
        self.scaling = Scaling.of(self.train, config.target, config.stride)
        self.form = Form(
            network=NetworkShape(
                config.width,
                config.depth,
                config.activation,
                config.normalisation,
                config.dropout,
                config.residual,
            ),
            target=config.target,
            learned_std=config.loss == "nll",
            angles=config.angles,
            bounds=config.bounds,
        )
        self._created(jax.random.key(0), 0)  # fails now if it cannot start from `start`
        count = len(self.windows)
        if config.epochs is None:  # of small data an epoch is several passes
            count *= max(1, _LEAST_UPDATES * config.batch // count)
        self.chosen = jnp.asarray(np.arange(count) % len(self.windows), jnp.int32)
        sizes = batch_sizes(count, config.batch)
        if config.normalisation == "batch" and min(size for size, _ in sizes) < 2:
            raise FarstepError(
                f"batch normalisation needs batches of at least two windows; {len(self.windows)} "
                f"windows in batches of {config.batch} leave one alone. Choose another batch or "
                "normalisation."
            )
        updates = sum(count for _, count in sizes)
        self.epochs = config.passes(updates)
        falling = config.schedule == "cosine"
        self.total = jnp.asarray(updates * self.epochs, jnp.float32) if falling else None
        self.recipe = Recipe(
            objective=Objective(
                config.loss,
                config.propagation,
                truncation(config.gradient),
                config.rematerialise,
            ),
            profile=self.profile,
            optimiser=optimiser(config.learning_rate, config.clip, config.weight_decay),
            batch=config.batch,
            units=config.units,
            settle=config.settle,
            average=config.average,
            input_noise=config.input_noise,
        )

    def member(self, number: int, checkpoints: Checkpoints) -> tuple[NetworkDynamics, Curve]:
        """Train one member from where its checkpoint stands."""
        key = jax.random.fold_in(jax.random.key(self.config.seed), number)
        init_key, draw_key, epoch_key = jax.random.split(key, 3)
        dynamics = self._created(init_key, number)
        chosen = self.chosen
        if self.config.members > 1 and self.config.bootstrap:
            count = len(self.windows)
            drawn = jax.random.randint(draw_key, (count,), 0, count)
            chosen = drawn[chosen]  # several passes are over the same draw
        state = initial_state(dynamics, self.config.horizon, self.recipe)
        at = checkpoints.read(number, state) or Checkpoint(state, state, Curve(), False)
        start = len(at.curve.score)
        folder, many = checkpoints.folder, self.config.members > 1
        name = f"member {number + 1}/{self.config.members}" if many else self.name
        with (
            TensorBoard(folder and folder / self.board(number), start) as board,
            Bar(name, self.epochs, "epochs", start) as bar,
        ):
            for epoch in range(start, self.epochs):
                if at.finished:
                    break
                at = self._advance(at, dynamics, chosen, jax.random.fold_in(epoch_key, epoch))
                board.add(at.curve.scalars, epoch)
                checkpoints.write(number, at)
                bar.advance(_status(at.curve))
        if at.curve.best is None:
            raise DivergedError(
                "no epoch gave a finite validation score: the model diverges when it is rolled "
                "out. Try a smaller learning rate, gradient clipping (clip=1), or bounds."
            )
        return self._calibrated(with_state(dynamics, at.best)), at.curve

    def _created(self, key: jax.Array, number: int) -> NetworkDynamics:
        """Return a member as training begins with it."""
        config = self.config
        new = NetworkDynamics.create(key, self.scaling, self.form, config.stride, config.fixed_std)
        return new if self.start is None else begun_from(new, self.start, number)

    def board(self, number: int) -> str:
        """Return the folder of a member's curves for TensorBoard."""
        return f"member-{number}" if self.name == _FIT else self.name

    def _advance(
        self, at: Checkpoint, dynamics: NetworkDynamics, chosen: jax.Array, key: jax.Array
    ) -> Checkpoint:
        """Train and validate one epoch."""
        began = time.perf_counter()
        state, record = train_epoch(
            at.state, dynamics, self.windows, chosen, key, self.recipe, self.total
        )
        bad = np.asarray(record.not_finite)
        if bad.any():
            raise DivergedError(
                f"the fit diverged in epoch {len(at.curve.score) + 1}: the loss "
                f"{int(np.argmax(bad)) + 1} step(s) ahead is not finite. Try a "
                "smaller learning rate, gradient clipping (clip=1), or a shorter horizon."
            )
        validation = validate(
            with_state(dynamics, state),
            self.scaling.unit(self.config.units),
            np.asarray(record.weights),
            self.validation,
            self.validation_windows,
            self.config,
        )
        curve = at.curve
        curve.add(record, validation, time.perf_counter() - began)
        epoch = len(curve.score) - 1
        best = state if curve.best == epoch else at.best
        waited = epoch - (curve.best if curve.best is not None else -1)
        finished = waited >= (self.config.patience or self.epochs) or epoch + 1 == self.epochs
        return Checkpoint(state, best, curve, finished)

    def _calibrated(self, dynamics: NetworkDynamics) -> NetworkDynamics:
        """Set the standard deviation that is not learned to what validation shows."""
        if self.form.learned_std:
            return dynamics
        single = Windows.of(self.validation, self.config.stride, room=True)
        measured = residual_std(dynamics, single)
        relative = jnp.maximum(measured / self.scaling.target_std, 1e-6)
        return dataclasses.replace(dynamics, fixed_log_std=jnp.log(relative))


def _data(
    config: FitConfig, train: Episodes, validation: Episodes | None, learn_reward: bool
) -> tuple[FitConfig, Episodes, Episodes]:
    """Return checked data; a part is held out where no validation is given.

    Steps to settle in, and a horizon that is to be chosen, are as many as the data allow.
    """
    for part in (train, *(() if validation is None else (validation,))):
        check_episodes(part)
        if learn_reward and part.rewards is None:
            raise FarstepError("the data have no rewards to learn; leave learn_reward out.")
    if said := unresolved(train.states, train.row_offsets, train.signals.state_names):
        warnings.warn(said, DataWarning, stacklevel=3)
    config = auto.within(config, train, validation)
    if validation is None:
        least = 1 if config.model == "linear" else config.span
        return config, *hold_out(train, config.seed, least)
    if not train.signals.same_names(validation.signals):
        raise FarstepError("training and validation data have different states or actions.")
    return config, train, validation


def _finished(folder: Path, identity: str) -> Model | None:
    """Return the model of this very fit, if it was stored already."""
    if not (folder / MODEL_FILE).exists():
        return None
    model = load_model(folder / MODEL_FILE)
    return model if model.record.get("identity") == identity else None


def _status(curve: Curve) -> str:
    losses, score = curve.train[-1], curve.score[-1]
    shown = [f"{value:.3g}" for value in (losses[0], losses[-1]) if value is not None]
    return f"loss {' … '.join(dict.fromkeys(shown))}  score {score:.4g}" if score else ""
