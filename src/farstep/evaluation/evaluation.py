"""`evaluate`: models and episodes in; R² and calibration against the horizon out."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from farstep.data.episodes import Episodes, check_episodes
from farstep.data.signals import Signals
from farstep.data.windows import check_horizon, unresolved
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.calibration import calibration
from farstep.evaluation.candidates import Candidate, Evaluable, as_list, candidates
from farstep.evaluation.example_rollouts import ExampleRollouts, example_rollouts
from farstep.evaluation.metrics import ModelMetrics
from farstep.evaluation.references import with_references
from farstep.evaluation.reward_errors import reward_r_squared
from farstep.evaluation.rollout_errors import mean_r_squared, rollout_errors
from farstep.evaluation.subtrajectories import varies
from farstep.evaluation.summary import short_table, summary
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.models.model import Model
from farstep.runtime.compilation import check_precision
from farstep.runtime.progress import track
from farstep.systems.system import System


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The measurements of `evaluate`. Printing it shows a short table."""

    models: tuple[ModelMetrics, ...]
    """Baselines, models and the oracle; `evaluation["name"]` returns one of them."""
    example_rollouts: ExampleRollouts
    signals: Signals
    system: str | None
    horizon: int
    about: str
    """The evaluated data, in a phrase."""
    notes: tuple[str, ...] = ()
    """Warnings about the data and the models."""

    def __repr__(self) -> str:
        return f"Evaluation on {self.about}\n{short_table(self.models)}"

    def __getitem__(self, name: str) -> ModelMetrics:
        """Return the metrics of this name."""
        for one in self.models:
            if one.name == name:
                return one
        raise KeyError(f"{name!r}; there are {', '.join(repr(one.name) for one in self.models)}")

    @property
    def summary(self) -> list[str]:
        """A sentence for each model, and one that compares several models."""
        return summary(self.models, self.signals.interval)

    def plot(self, path: str | Path, force: bool = False) -> list[Path]:
        """Draw R² against the horizon as PNG and PDF; return the paths of both.

        Args:
            path: Where to write; a suffix .png or .pdf is ignored.
            force: Replace existing files.
        """
        from farstep.plotting.evaluation_charts import r2_chart
        from farstep.plotting.static import save_chart

        path = Path(path)
        stem = path.with_suffix("") if path.suffix in (".png", ".pdf") else path
        return save_chart(r2_chart(self.models), stem, force)

    def save(self, out: str | Path = "evaluation", force: bool = False) -> list[Path]:
        """Write evaluation.json, all charts, and an HTML report; return the paths.

        Args:
            out: A directory.
            force: Replace existing files.
        """
        from farstep.plotting.html_report import save_report

        return save_report(self, Path(out), force)

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
        return {
            "about": self.about,
            "notes": list(self.notes),
            "horizon": self.horizon,
            "observation_names": list(self.signals.observation_names),
            "models": [one.to_json() for one in self.models],
        }


def evaluate(
    models: Evaluable | Sequence[Evaluable] | Mapping[str, Evaluable | Sequence[Evaluable]],
    episodes: Episodes,
    horizon: int = 100,
    *,
    train: Episodes | None = None,
    system: System | str | None = None,
    references: bool = True,
) -> Evaluation:
    """Measure R² and calibration 1 to `horizon` steps ahead, on all sub-trajectories.

    A model is the result of `fit`, or a function of many observations and actions, one in each
    row. It returns the next observations, or a pair of their means and standard deviations, in
    NumPy or as a PyTorch module.

    Args:
        models: One model, a list, or a dictionary of names. Models of a list that differ in their
            seed alone share a row with an interval, as does a list in a dictionary.
        episodes: The data to evaluate on, such as the test part of a split.
        horizon: Steps ahead, H; a multiple of the models' `fixed_horizon`.
        train: Data to fit the linear baseline on; without them it is left out.
        system: The system whose simulator is the oracle. The default is the system of the data,
            if it comes with Farstep.
        references: Add the baselines and the oracle.
    """
    check_precision()
    check_episodes(episodes)
    check_horizon(horizon, episodes.lengths)
    evaluated = candidates(models, episodes)
    unresolved_note = _check_variation(episodes)
    if references:
        evaluated = with_references(evaluated, episodes, train, system)
    if not evaluated:
        raise FarstepError("models is empty and references is False; pass at least one model.")
    try:
        metrics = tuple(
            _measure(candidate, episodes, horizon)
            for candidate in track(evaluated, len(evaluated), "evaluate", "models")
        )
        drawn = {one.name: one.predictors[0] for one in evaluated if one.kind != "baseline"}
        examples = example_rollouts(drawn, episodes, horizon)
    except jax.errors.JaxRuntimeError as error:
        raise _callback_error(error) from error
    notes = [*_metric_notes(metrics, episodes), *_origin_notes(models, episodes), *unresolved_note]
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return Evaluation(
        models=metrics,
        example_rollouts=examples,
        signals=episodes.signals,
        system=episodes.system,
        horizon=horizon,
        about=_describe(episodes),
        notes=tuple(notes),
    )


def _check_variation(episodes: Episodes) -> list[str]:
    """Fail if no observation varies; return a note if float32 does not resolve the changes."""
    note = unresolved(episodes)
    observations = episodes.observations.astype(np.float64)
    if not varies(observations.var(axis=0), observations.mean(axis=0)).any():
        raise FarstepError(
            f"episodes must have an observation that varies: R² is undefined. {note}".strip()
        )
    return [note] if note else []


def _measure(candidate: Candidate, episodes: Episodes, horizon: int) -> ModelMetrics:
    predictors = candidate.predictors
    errors = rollout_errors(predictors, episodes, horizon)
    r2 = errors.r_squared
    span = horizon // r2.shape[2]
    several = len(predictors) > 1 or isinstance(predictors[0], Ensemble)
    with np.errstate(invalid="ignore"):
        bias, variance = (
            mean_r_squared(sums / errors.sst[-1]) for sums in (errors.bias[-1], errors.variance)
        )
    measured = [
        calibration(one, episodes, horizon) for one in predictors if isinstance(one, Dynamics)
    ]
    rewards = None
    if candidate.reward_heads and episodes.rewards is not None:
        pairs = zip(predictors, candidate.reward_heads, strict=True)
        rewards = np.stack(
            [reward_r_squared(one, head, episodes, horizon) for one, head in pairs]  # pyright: ignore[reportArgumentType]
        )
    return ModelMetrics(
        name=candidate.name,
        kind=candidate.kind,
        steps=np.arange(span, horizon + 1, span),
        r2_dimensions=r2[0],
        r2_clean_dimensions=r2[1] if len(r2) > 1 else None,
        rmse_dimensions=errors.rmse,
        bias=bias if several else None,
        variance=variance if several else None,
        r2_reward=rewards,
        calibrations=tuple(one for one in measured if one is not None),
    )


def _metric_notes(metrics: Sequence[ModelMetrics], episodes: Episodes) -> list[str]:
    """Report observations that do not vary, and models that diverge."""
    constant = np.isnan(metrics[0].r2_dimensions).all(axis=(0, 1))
    names = np.array(episodes.signals.observation_names)[constant].tolist()
    notes = []
    long_enough = int((episodes.lengths >= metrics[0].steps[-1]).sum())
    if long_enough == 1 and len(episodes) > 1:
        notes.append(
            f"only one of {len(episodes)} episodes has {metrics[0].steps[-1]} steps: far ahead, "
            "all numbers are of that episode."
        )
    if names:
        notes.append(
            f"no R² for {', '.join(names)}, and none in the means: it varies by less than a "
            "millionth of its size in these episodes."
        )
    notes += [
        f"'{one.name}' diverges: from step {one.diverged} on, R² is −∞, because predictions are "
        "not finite or too large to square."
        for one in metrics
        if one.diverged is not None
    ]
    return notes


def _origin_notes(models: Any, episodes: Episodes) -> list[str]:
    """Report models of the evaluated episodes, of another step length, or of another system."""
    groups = models.values() if isinstance(models, Mapping) else [models]
    fitted = [one for group in groups for one in as_list(group) if isinstance(one, Model)]
    notes, evaluated = [], set(episodes.episode_digests)
    shared = max((len(evaluated & {*one.record.get("episodes", ())}) for one in fitted), default=0)
    if shared:
        notes.append(
            f"a model was fitted on {shared} of the {len(episodes)} evaluated episodes: its R² is "
            "too high."
        )
    ours = episodes.signals
    others = {one.signals.interval for one in fitted if not one.signals.same_interval(ours)}
    notes += [
        f"a model has a step of {interval:g} s, the dataset of {ours.interval:g} s: they are "
        "evaluated as if they were equal."
        for interval in others
    ]
    systems = {one.system for one in fitted if one.system and episodes.system}
    others = sorted(systems - {episodes.system})
    return [*notes, *(f"a model of {other} is evaluated on {episodes.system}." for other in others)]


def _describe(episodes: Episodes) -> str:
    source = f" of {episodes.system}" if episodes.system else ""
    clean = ", with noise-free observations" if episodes.clean_observations is not None else ""
    return (
        f"{len(episodes)} episodes, {episodes.num_steps} steps{source}{clean} "
        f"(fingerprint {episodes.fingerprint[:12]})"
    )


def _callback_error(error: BaseException) -> Exception:
    """Return the error that a user's function raised inside the compiled program."""
    found = re.search(r"FarstepError: (.*)", str(error))
    return FarstepError(found[1]) if found else RuntimeError(str(error))
