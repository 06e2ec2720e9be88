"""score: models and episodes in; R² against horizon, calibration and pictures out."""

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from farstep.checks import check_horizon, unresolved
from farstep.dynamics.contract import Dynamics
from farstep.dynamics.ensemble import Ensemble
from farstep.episodes import Episodes, check_episodes
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.entries import (
    Entry,
    Scorable,
    baselines,
    entries,
    oracle,
    told_apart,
)
from farstep.files import publish
from farstep.model import Model
from farstep.programs import check_precision
from farstep.progress import track
from farstep.report.animation import animation
from farstep.report.figures import check_figure
from farstep.report.score_page import score_page
from farstep.report.scores import r2_chart, score_charts
from farstep.report.static import save_chart
from farstep.report.verdict import verdicts
from farstep.scoring.blocks import varies
from farstep.scoring.calibration import calibration
from farstep.scoring.errors import errors, mean_r_squared
from farstep.scoring.rewards import reward_r_squared
from farstep.scoring.score import Score
from farstep.scoring.trajectories import Trajectories, trajectories
from farstep.signals import Signals
from farstep.systems.system import System


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `score` measured; draws itself."""

    scores: tuple[Score, ...]
    trajectories: Trajectories
    signals: Signals
    system: str | None
    horizon: int
    about: str
    """What the models were scored on, in a sentence."""
    notes: tuple[str, ...] = ()
    """What else has to be said, such as dimensions left out."""

    def __repr__(self) -> str:
        lines = [f"Evaluation of {self.about}", *map(repr, self.scores)]
        return "\n  ".join(lines)

    def __getitem__(self, name: str) -> Score:
        """Return the score of this name."""
        for one in self.scores:
            if one.name == name:
                return one
        raise KeyError(f"{name!r}; there are {', '.join(repr(one.name) for one in self.scores)}")

    @property
    def verdicts(self) -> list[str]:
        """How far each model can be trusted, a sentence each, and one that compares several."""
        return verdicts(self.scores, self.signals.interval)

    def plot(self, path: str | Path, force: bool = False) -> list[Path]:
        """Draw R² against horizon, as PNG and PDF whichever suffix the path has."""
        path = Path(path)
        stem = path.with_suffix("") if path.suffix in (".png", ".pdf") else path
        return save_chart(r2_chart(self.scores), stem, force)

    def save(self, out: str | Path, force: bool = False) -> list[Path]:
        """Write the numbers, all pictures and one HTML page into a directory; return the files."""
        out = Path(out)
        charts = score_charts(self.scores, self.trajectories, self.signals)
        for chart in charts:
            check_figure(out / chart.name, force)
        written = [path for one in charts for path in save_chart(one, out / one.name, force)]
        contents = {"scores.json": json.dumps(self.to_json(), indent=1).encode() + b"\n"}
        moving = animation(self.trajectories, self.system)
        if moving is not None:
            contents["animation.gif"] = moving
        contents["report.html"] = score_page(
            self.scores, self.signals, charts, moving, self.about, self.verdicts, self.notes
        ).encode()
        for name, data in contents.items():
            publish(out / name, {"": data}, force)
        return [*written, *(out / name for name in contents)]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return {
            "about": self.about,
            "notes": list(self.notes),
            "horizon": self.horizon,
            "state_names": list(self.signals.state_names),
            "scores": [one.to_json() for one in self.scores],
        }


def score(
    models: Scorable | Sequence[Scorable] | Mapping[str, Scorable | Sequence[Scorable]],
    episodes: Episodes,
    horizon: int = 100,
    *,
    train: Episodes | None = None,
    system: System | str | None = None,
    references: bool = True,
) -> Evaluation:
    """Measure how far ahead models can be trusted, on all sub-trajectories of some episodes.

    Args:
        models: One, a list, or a dictionary of names. A model is what `fit` returns, or any
            function (states, actions) → next states, or their means and standard deviations, in
            NumPy or a PyTorch module; arrays have one row for each state. Models of a list that
            differ in their seed alone, and lists in a dictionary, share a line with an interval.
        episodes: What they are scored on, such as the test part of a split.
        horizon: Steps ahead, H; a multiple of h for a model that spans h steps at once.
        train: What the linear baseline is fitted on; without it there is none.
        system: Whose simulator is the oracle, by default that of the data, if it comes with
            Farstep.
        references: Whether baselines and the oracle are scored too.
    """
    check_precision()
    check_episodes(episodes)
    check_horizon(horizon, episodes.lengths)
    found = entries(models, episodes)
    lost = unresolved(episodes.states, episodes.row_offsets, episodes.signals.state_names)
    states = episodes.states.astype(np.float64)
    if not varies(states.var(axis=0), states.mean(axis=0)).any():
        raise FarstepError(f"no state varies in these episodes, so there is no R². {lost}".strip())
    if references:
        best = oracle(episodes, system)
        simple, last = baselines(episodes, train), [best] if best else []
        found = [*simple, *told_apart(found, [*simple, *last]), *last]
    if not found:
        raise FarstepError("there is nothing to score; give a model, or leave the baselines on.")
    try:
        scores = tuple(
            _scored(entry, episodes, horizon)
            for entry in track(found, len(found), "score", "models")
        )
        shown = {entry.name: entry.predictors[0] for entry in found if entry.kind != "baseline"}
        few = trajectories(shown, episodes, horizon)
    except jax.errors.JaxRuntimeError as error:
        raise _users_own(error) from error
    constant = np.isnan(scores[0].r2_dimensions).all(axis=(0, 1))
    names = np.array(episodes.signals.state_names)[constant].tolist()
    notes = (*_notes(scores, names), *_origins(models, episodes), *([lost] if lost else []))
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return Evaluation(
        scores=scores,
        trajectories=few,
        signals=episodes.signals,
        system=episodes.system,
        horizon=horizon,
        about=_about(episodes),
        notes=notes,
    )


def _scored(entry: Entry, episodes: Episodes, horizon: int) -> Score:
    sums = errors(entry.predictors, episodes, horizon)
    values = sums.r_squared
    count = horizon // values.shape[2]
    several = len(entry.predictors) > 1 or isinstance(entry.predictors[0], Ensemble)
    with np.errstate(invalid="ignore"):
        parts = [mean_r_squared(sum_ / sums.variation[-1]) for sum_ in (sums.bias[-1], sums.spread)]
    measured = [
        calibration(one, episodes, horizon) for one in entry.predictors if isinstance(one, Dynamics)
    ]
    rewards = None
    if entry.rewards and episodes.rewards is not None:
        pairs = zip(entry.predictors, entry.rewards, strict=True)
        rewards = np.stack(
            [reward_r_squared(one, head, episodes, horizon) for one, head in pairs]  # pyright: ignore[reportArgumentType]
        )
    return Score(
        name=entry.name,
        kind=entry.kind,
        steps=np.arange(count, horizon + 1, count),
        r2_dimensions=values[0],
        r2_clean_dimensions=values[1] if len(values) > 1 else None,
        rmse_dimensions=sums.rmse,
        bias=parts[0] if several else None,
        variance=parts[1] if several else None,
        r2_reward=rewards,
        calibrations=tuple(one for one in measured if one is not None),
    )


def _notes(scores: Sequence[Score], constant: Sequence[str]) -> list[str]:
    notes = []
    if constant:
        notes.append(
            f"{', '.join(constant)} does not vary in these episodes by as much as a millionth of "
            "its size: no R² of it, and none in the means."
        )
    notes += [
        f"'{one.name}' diverges: from step {one.diverged} on, some predictions are not "
        "finite or too large to square, and R² is minus infinity."
        for one in scores
        if one.diverged is not None
    ]
    return notes


def _origins(models: Any, episodes: Episodes) -> list[str]:
    """Say so if a model is of these very episodes, another system, or steps of other length."""
    groups = models.values() if isinstance(models, Mapping) else [models]
    lists = [group if isinstance(group, (list, tuple)) else [group] for group in groups]
    fitted = [one for group in lists for one in group if isinstance(one, Model)]
    notes = []
    if any(
        one.record.get(part) == episodes.fingerprint
        for one in fitted
        for part in ("train", "validation")
    ):
        notes.append("a model was fitted on these very episodes: its scores are too good.")
    ours = episodes.signals
    others = {one.signals.interval for one in fitted if not one.signals.same_interval(ours)}
    notes += [
        f"a step of a model is {interval:g} s, one of the dataset {ours.interval:g} s: it is "
        "scored as if they were equally long."
        for interval in others
    ]
    systems = {one.system for one in fitted if one.system and episodes.system}
    others = sorted(systems - {episodes.system})
    return [*notes, *(f"a model of {other} is scored on {episodes.system}." for other in others)]


def _about(episodes: Episodes) -> str:
    source = f" of {episodes.system}" if episodes.system else ""
    clean = ", with states without noise" if episodes.clean_states is not None else ""
    return (
        f"{len(episodes)} episodes, {episodes.num_steps} steps{source}{clean} "
        f"(fingerprint {episodes.fingerprint[:12]})"
    )


def _users_own(error: BaseException) -> Exception:
    """Return the error that a user's function raised inside the compiled program."""
    found = re.search(r"FarstepError: (.*)", str(error))
    return FarstepError(found[1]) if found else RuntimeError(str(error))
