"""tune: datasets in; the settings of a fit that predict their validation episodes best."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from farstep.datasets.reading import read
from farstep.episodes import Episodes
from farstep.errors import DivergedError, FarstepError, one_line
from farstep.fields import changed, check_least, identity_of
from farstep.files import check_output, locked
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.fit import fit
from farstep.fitting.settings import fit_settings
from farstep.packages import require
from farstep.processes import usable_cores
from farstep.report.charts import COLOURS, Chart, Line, Panel
from farstep.runs.pool import run_all
from farstep.runs.run import Run, Runs
from farstep.runs.store import Store
from farstep.scoring.errors import mean_r_squared, r_squared

if TYPE_CHECKING:
    import optuna

SPACE: dict[str, Callable[["optuna.Trial"], Any]] = {
    "learning_rate": lambda trial: trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
    "width": lambda trial: trial.suggest_categorical("width", [64, 128, 256, 512]),
    "depth": lambda trial: trial.suggest_int("depth", 1, 4),
    "batch": lambda trial: trial.suggest_categorical("batch", [64, 128, 256]),
    "dropout": lambda trial: trial.suggest_float("dropout", 0.0, 0.3),
}
"""What is searched, by the field of `FitConfig`: the paper's own choices, and around them."""
_PILOT = 5
"""Every trial is first fitted for this part of its length; the worse half ends there."""
_STUDY = "study.db"
_WORST = -1.0
"""R² below it counts as this: how far an explosion went says nothing."""


@dataclass(frozen=True)
class TrialFit(Run):
    """A run: settings fitted on one dataset, and R² on its validation episodes."""

    data: str
    config: FitConfig
    care_about: int
    weights_source: str = ""
    """Of weights that are a function of the user's own."""

    kind: ClassVar[str] = "trial"

    @property
    def settings(self) -> dict[str, Any]:
        """All that the value depends on."""
        config = changed(self.config, PAPER)
        told = {"data": self.data, "config": config, "care_about": self.care_about}
        return {**told, **_told(self.weights_source)}

    @property
    def reads(self) -> tuple[str, ...]:
        """What it is fitted on."""
        return (self.data,)

    @property
    def usual_seconds(self) -> float:
        """For 36 episodes of a thousand steps, one step ahead."""
        return 10 + 0.35 * (self.config.epochs or 50)

    def compute(self, place: Path, store: Runs) -> dict[str, Any]:
        """Return the mean R² over all steps ahead that are cared about."""
        del store
        train, validation, _ = read(self.data).split()
        try:
            model = fit(train, validation, self.config, out=place / "model")
            scores = mean_r_squared(r_squared(model.dynamics, validation, self.care_about))
        except DivergedError:
            return {"value": _WORST}
        return {"value": float(np.clip(np.nan_to_num(scores, nan=_WORST), _WORST, 1).mean())}


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    config: FitConfig
    """The best settings."""
    value: float
    """Their mean R² over datasets and steps ahead, on validation episodes."""
    trials: tuple[dict[str, Any], ...]
    """Number, value (None of a trial that ended early), and settings of each, in order."""

    def chart(self) -> Chart:
        """Draw the search: values in turn, and against each setting."""
        known = [one for one in self.trials if one["value"] is not None]
        values = np.array([one["value"] for one in known])
        numbers = [one["number"] for one in known]
        best = Line("best so far", numbers, np.maximum.accumulate(values), colour=COLOURS[1])
        dots = Line("trial", numbers, values, style="points")
        panels = [Panel("in turn", [dots, best], "trial", "mean R²")]
        for name in SPACE:
            given = [one["settings"][name] for one in known]
            panels.append(Panel(name, [Line("trial", given, values, style="points")], name))
        return Chart("search", "Search for settings", panels, columns=3)


def tune(
    data: str | Path | Sequence[str | Path],
    config: FitConfig | str = "recommended",
    *,
    out: str | Path,
    trials: int = 30,
    care_about: int = 50,
    workers: int = usable_cores(),
    **settings: Any,
) -> Tuned:
    """Search for the settings of a fit with Optuna, by R² on validation episodes.

    Test episodes are not looked at. Trials are kept in `out`: the same call with more of them goes
    on, and a killed search goes on where it was, to the same end.

    Args:
        data: A dataset's name or path, or several: their mean counts.
        config: What is not searched, or the name of a preset; settings given by name replace its
            fields.
        out: A directory for the study (SQLite) and its fits.
        trials: How many settings are tried, those of `out` included.
        care_about: R² counts from 1 to this many steps ahead.
        workers: Processes of one thread each, for a trial's datasets.
        **settings: Fields of `FitConfig`, such as `horizon=4`; `weights` as for `fit`, where a
            function has to be one that can be imported.
    """
    if isinstance(data, Episodes):
        raise FarstepError("tune reads its data by name; write them to a file first.")
    names = [str(one) for one in ([data] if isinstance(data, str | Path) else data)]
    counts = {"trials": trials, "care_about": care_about, "workers": workers}
    check_least(dict.fromkeys(counts, 1), counts)
    base, weights = fit_settings(config, settings)
    _check(names, settings, care_about)
    optuna = _optuna()
    out = Path(out)
    check_output(out / _STUDY, force=True)
    with locked(out), _storage_explained(out):
        told = identity_of(
            data=[read(name).fingerprint for name in names],
            base=changed(base, PAPER),
            care_about=care_about,
            **_told(weights.source),
        )
        study = optuna.create_study(
            storage=f"sqlite:///{out / _STUDY}",
            study_name=told[:16],
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
        )
        store = Store(out / "runs")
        search = _Search(names, base, care_about, store, workers, weights.source)
        _go_on(study, search, trials)
        return search.found(study)


@dataclass(frozen=True)
class _Search:
    names: list[str]
    base: FitConfig
    care_about: int
    store: Store
    workers: int
    weights_source: str

    def objective(self, trial: "optuna.Trial") -> float:
        """Return the mean over datasets, after a short fit that may end the trial."""
        import optuna

        config = self.config({name: suggest(trial) for name, suggest in SPACE.items()})
        trial.report(self._value(_shortened(config)), step=0)
        if trial.should_prune():
            raise optuna.TrialPruned
        return self._value(config)

    def config(self, chosen: Mapping[str, Any]) -> FitConfig:
        """Return a trial's settings."""
        return replace(self.base, **chosen)

    def _value(self, config: FitConfig) -> float:
        source = self.weights_source
        runs = [TrialFit(name, config, self.care_about, source) for name in self.names]
        if self.workers == 1 or len(runs) == 1:
            found = [self.store.run(run) for run in runs]
        else:
            done = run_all(runs, self.store.run, self.workers)  # in the order in which they end
            found = [done[run] for run in runs]
        return float(np.mean([one["value"] for one in found]))

    def found(self, study: "optuna.Study") -> Tuned:
        """Return what the study holds."""
        rows = [
            {
                "number": number,
                "value": one.value if one.state.name == "COMPLETE" else None,
                "settings": dict(one.params),
            }
            for number, one in enumerate(_finished(study))
        ]
        return Tuned(self.config(study.best_params), study.best_value, tuple(rows))


def _go_on(study: "optuna.Study", search: _Search, trials: int) -> None:
    """Run the trials that are missing; each draws from its own number, so that a kill is no end."""
    import optuna

    for left in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
        study.tell(left.number, state=optuna.trial.TrialState.FAIL)
    while (number := len(_finished(study))) < trials:
        study.sampler = optuna.samplers.TPESampler(seed=search.base.seed + number)
        study.optimize(search.objective, n_trials=1)


def _finished(study: "optuna.Study") -> list["optuna.trial.FrozenTrial"]:
    import optuna

    states = [optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED]
    return study.get_trials(states=states)


def _shortened(config: FitConfig) -> FitConfig:
    if config.epochs:
        return replace(config, epochs=max(1, config.epochs // _PILOT))
    return replace(config, compositions=max(1, config.compositions // _PILOT))


def _told(weights_source: str) -> dict[str, str]:
    """Return what tells a user's own weights; nothing without them, so that names stay."""
    return {"weights_source": weights_source} if weights_source else {}


@contextmanager
def _storage_explained(out: Path) -> Iterator[None]:
    """Say in one line what is wrong with the study's file."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        raise FarstepError(
            f"{out / _STUDY} cannot be used: {one_line(error)} Free some space, or choose another "
            "place; finished fits are kept."
        ) from error


def _check(names: Sequence[str], settings: Mapping[str, Any], care_about: int) -> None:
    """Fail if there is nothing to search, or nothing to search it by."""
    if not names:
        raise FarstepError("name a dataset to tune on.")
    searched = sorted(set(settings) & set(SPACE))
    if searched:
        raise FarstepError(f"{', '.join(searched)} is searched; do not set it.")
    for name in names:
        longest = int(read(name).split().validation.lengths.max())
        if longest < care_about:
            raise FarstepError(
                f"{name}: the validation episodes have at most {longest} steps; care about fewer "
                f"than {care_about}."
            )


def _optuna() -> Any:
    require("tune")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
