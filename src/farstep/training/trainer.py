"""Trainer: trains the members of one fit, epoch by epoch, from their checkpoints."""

import dataclasses
import time
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from farstep.data.episodes import Episodes
from farstep.data.windows import Windows, check_horizon
from farstep.errors import DivergedError, FarstepError
from farstep.models.contract import Dynamics
from farstep.models.description import describe_dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.network import NetworkShape
from farstep.models.network_dynamics import NetworkDynamics
from farstep.models.normalizer import Normalizer
from farstep.runtime.progress import Bar
from farstep.storage import tensors
from farstep.storage.event_files import TensorBoard
from farstep.storage.run_directory import RunDirectory
from farstep.training.config import FitConfig
from farstep.training.curve import Curve
from farstep.training.epoch import (
    TrainingState,
    batch_sizes,
    initial_state,
    train_epoch,
    with_state,
)
from farstep.training.objective import CompiledConfig
from farstep.training.validation import residual_std, validate
from farstep.training.weights import Profile

_LEAST_UPDATES = 50
"""In an epoch of a fit without `epochs`: validation costs as much as some of them."""


class Progress(NamedTuple):
    """How far a member's training is: its checkpoint."""

    state: TrainingState
    best: TrainingState
    curve: Curve
    finished: bool


class Trainer:
    """The data, model description and compiled configuration that the members of a fit share."""

    def __init__(
        self,
        train: Episodes,
        validation: Episodes,
        config: FitConfig,
        weights: Profile | None = None,
        start: Dynamics | None = None,
    ) -> None:
        """Prepare the data; fail if they do not fit the configuration.

        Args:
            train: Training data.
            validation: Data that select the best epoch.
            config: The configuration of the fit.
            weights: The horizon weights; None takes them from `config`.
            start: A model to continue from, of the same description.
        """
        self.config, self.start, self.validation = config, start, validation
        self.program = CompiledConfig.of(config, weights)
        check_horizon(config.window_steps, train.lengths)
        check_horizon(config.window_steps, validation.lengths)
        self.program.weights.check(config.horizon)
        train.signals.check_angles(config.angles)
        self.windows = Windows.of(train, config.window_steps, room=True)
        self.validation_windows = Windows.of(validation, config.window_steps, room=True)
        self.normalizer = Normalizer.of(train, config.target, config.fixed_horizon)
        if start is not None:
            self.new_member(jax.random.key(0))  # fails now if `start` does not fit
        count = len(self.windows)
        if config.epochs is None:  # an epoch of little data is several passes
            count *= max(1, _LEAST_UPDATES * config.batch_size // count)
        self.chosen = jnp.asarray(np.arange(count) % len(self.windows), jnp.int32)
        sizes = batch_sizes(count, config.batch_size)
        if config.normalisation == "batch" and min(size for size, _ in sizes) < 2:
            raise FarstepError(
                f"batch normalisation needs two windows in each batch; batch_size "
                f"{config.batch_size} leaves one of {len(self.windows)} windows alone. Choose "
                "another batch_size or normalisation."
            )
        updates = sum(count for _, count in sizes)
        self.epochs = config.max_epochs(updates)
        cosine = config.schedule == "cosine"
        self.total = jnp.asarray(updates * self.epochs, jnp.float32) if cosine else None

    def new_member(self, key: jax.Array, number: int = 0) -> NetworkDynamics:
        """Return a member before training: random, or with the numbers of `start`."""
        config = self.config
        new = NetworkDynamics.create(
            key,
            self.normalizer,
            NetworkShape(
                **{f.name: getattr(config, f.name) for f in dataclasses.fields(NetworkShape)}
            ),
            target=config.target,
            learned_std=config.loss == "nll",
            angles=config.angles,
            bounds=config.bounds,
            fixed_horizon=config.fixed_horizon,
            fixed_std=config.fixed_std,
        )
        return new if self.start is None else _with_numbers_of(new, self.start, number)

    def fit_member(
        self, number: int, run: RunDirectory, pilot: bool = False
    ) -> tuple[NetworkDynamics, Curve]:
        """Train one member from its checkpoint; return the model of its best epoch and its curve.

        Args:
            number: The member's number, which its random keys depend on.
            run: Where checkpoints and TensorBoard curves are stored.
            pilot: Store them as the pilot's.
        """
        name = label = "pilot" if pilot else f"member-{number}"
        if not pilot:
            size = self.config.ensemble_size
            label = f"member {number + 1}/{size}" if size > 1 else "fit"
        key = jax.random.fold_in(jax.random.key(self.config.seed), number)
        init_key, draw_key, epoch_key = jax.random.split(key, 3)
        dynamics = self.new_member(init_key, number)
        chosen = self.chosen
        if self.config.ensemble_size > 1 and self.config.bootstrap:
            count = len(self.windows)
            drawn = jax.random.randint(draw_key, (count,), 0, count)
            chosen = drawn[chosen]  # several passes use the same draw
        at = _stored(run, name, initial_state(dynamics, self.config.horizon, self.program))
        first = len(at.curve.score)
        with (
            TensorBoard(run.path and run.path / name, first) as board,
            Bar(label, self.epochs, "epochs", first) as bar,
        ):
            for epoch in range(first, self.epochs):
                if at.finished:
                    break
                at = self._advance(at, dynamics, chosen, jax.random.fold_in(epoch_key, epoch))
                board.add(at.curve.scalars, epoch)
                _store(run, name, at)
                bar.advance(at.curve.status)
        if at.curve.best is None:
            raise DivergedError(
                "no epoch gave a finite validation score: the model's rollouts diverge. Try a "
                "smaller learning_rate, max_grad_norm=1, or bounds."
            )
        return self._calibrated(with_state(dynamics, at.best)), at.curve

    def _advance(
        self, at: Progress, dynamics: NetworkDynamics, chosen: jax.Array, key: jax.Array
    ) -> Progress:
        """Train and validate one epoch."""
        began = time.perf_counter()
        state, record = train_epoch(
            at.state, dynamics, self.windows, chosen, key, self.program, self.total
        )
        bad = np.asarray(record.not_finite)
        if bad.any():
            raise DivergedError(
                f"the fit diverged in epoch {len(at.curve.score) + 1}: the loss at horizon "
                f"{int(np.argmax(bad)) + 1} is not finite. Try a smaller learning_rate, "
                "max_grad_norm=1, or a shorter horizon."
            )
        validation = validate(
            with_state(dynamics, state),
            self.normalizer.loss_scale(self.config.loss_scale),
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
        return Progress(state, best, curve, finished)

    def _calibrated(self, dynamics: NetworkDynamics) -> NetworkDynamics:
        """Set a standard deviation that is not learned to the validation error."""
        if dynamics.learned_std:
            return dynamics
        single = Windows.of(self.validation, self.config.fixed_horizon, room=True)
        measured = residual_std(dynamics, single)
        relative = jnp.maximum(measured / self.normalizer.target_std, 1e-6)
        return dataclasses.replace(dynamics, fixed_log_std=jnp.log(relative))


def _stored(run: RunDirectory, name: str, initial: TrainingState) -> Progress:
    """Return the progress in a checkpoint, or that before the first epoch."""
    found = run.checkpoint(name)
    if found is None:
        return Progress(initial, initial, Curve(), False)
    assert run.path is not None, "it has checkpoints"
    arrays, header = found
    with tensors.understood(run.path, "checkpoint"):
        return Progress(
            tensors.from_arrays(initial, arrays, "state"),
            tensors.from_arrays(initial, arrays, "best"),
            Curve.from_json(header["curve"]),
            bool(header["finished"]),
        )


def _store(run: RunDirectory, name: str, at: Progress) -> None:
    arrays = {**tensors.to_arrays(at.state, "state"), **tensors.to_arrays(at.best, "best")}
    run.save_checkpoint(arrays, {"curve": at.curve.to_json(), "finished": at.finished}, name)


def _with_numbers_of(new: NetworkDynamics, start: Dynamics, number: int) -> NetworkDynamics:
    """Return a new model with the network of another, or of a member of it."""
    if isinstance(start, Ensemble):
        start = start.member(number % start.size)
    if not isinstance(start, NetworkDynamics) or (
        describe_dynamics(start) != describe_dynamics(new)
    ):
        raise FarstepError(
            "`start` must be a model of the same network, observations, actions and target; fit "
            "it with the same model settings, or leave start out."
        )
    return eqx.tree_at(lambda d: (d.network, d.statistics), new, (start.network, start.statistics))
