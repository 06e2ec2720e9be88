"""tune: search for the settings of a fit that predict validation episodes best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episodes
from farstep.errors import DivergedError, FarstepError
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.runtime.machine import require
from farstep.runtime.processes import usable_cores
from farstep.settings import check_counts
from farstep.storage.run_directory import RunDirectory
from farstep.training.config import FitConfig
from farstep.training.fit import fit as fit_model
from farstep.workflows.presets import FitChoice, chosen_fit
from farstep.workflows.runs import Run, Store
from farstep.workflows.worker_pool import run_all

if TYPE_CHECKING:
    import optuna

    from farstep.plotting.charts import Chart

SPACE: dict[str, Callable[["optuna.Trial"], Any]] = {
    "learning_rate": lambda trial: trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
    "width": lambda trial: trial.suggest_categorical("width", [64, 128, 256, 512]),
    "depth": lambda trial: trial.suggest_int("depth", 1, 4),
    "batch_size": lambda trial: trial.suggest_categorical("batch_size", [64, 128, 256]),
    "dropout": lambda trial: trial.suggest_float("dropout", 0.0, 0.3),
}
"""The range of each searched field of `FitConfig`: the paper's own choices, and around them."""
_PILOT = 5
"""Every trial is first fitted for this part of its length; the worse half ends there."""
_LOWEST = -1.0
"""A lower R² counts as this: how far a diverging rollout went carries no information."""


@dataclass(frozen=True)
class TrialFit(Run):
    """A run: settings fitted on one dataset, and R² on its validation episodes."""

    data: str
    fit: FitConfig
    evaluation_horizon: int

    kind: ClassVar[str] = "trial"

    @property
    def reads(self) -> tuple[str, ...]:
        """The dataset."""
        return (self.data,)

    @property
    def usual_seconds(self) -> float:
        """For 36 episodes of a thousand steps, one step ahead."""
        return 10 + 0.35 * (self.fit.epochs or 50)

    def compute(self, directory: Path, store: Store) -> dict[str, Any]:
        """Return the mean R² over the evaluated steps ahead."""
        del store
        train, validation, _ = read_dataset(self.data).split()
        try:
            model = fit_model(train, validation, self.fit, out=directory / "model")
            r2 = mean_r_squared(r_squared(model.dynamics, validation, self.evaluation_horizon))
        except DivergedError:
            return {"value": _LOWEST}
        return {"value": float(np.clip(np.nan_to_num(r2, nan=_LOWEST), _LOWEST, 1).mean())}


@dataclass(frozen=True)
class Tuned:
    """The result of a search."""

    config: FitConfig
    """The best settings."""
    value: float
    """Their mean R² over datasets and steps ahead, on validation episodes."""
    trials: tuple[dict[str, Any], ...]
    """`number`, `value` (None if the trial was stopped early) and `settings` of each, in order."""

    def chart(self) -> "Chart":
        """Return a chart of the values in the order of trials, and against each setting."""
        from farstep.plotting.charts import COLOURS, Chart, Line, Panel

        known = [one for one in self.trials if one["value"] is not None]
        values = np.array([one["value"] for one in known])
        numbers = [one["number"] for one in known]
        best = Line("best so far", numbers, np.maximum.accumulate(values), colour=COLOURS[1])
        points = Line("trial", numbers, values, style="points")
        panels = [Panel("trials in order", [points, best], "trial", "mean R²")]
        for name in SPACE:
            given = [one["settings"][name] for one in known]
            panels.append(Panel(name, [Line("trial", given, values, style="points")], name))
        return Chart("search", "Search for settings", panels, columns=3)


def tune(
    data: str | Path | Sequence[str | Path],
    *,
    fit: FitChoice = "default",
    out: str | Path = "tune",
    trials: int = 30,
    evaluation_horizon: int = 50,
    workers: int = usable_cores(),
    force: bool = False,
) -> Tuned:
    """Search for the settings of a fit with Optuna, by R² on validation episodes.

    Learning rate, width, depth, batch size and dropout are searched. Test episodes are not used.
    The fits are kept in `out`. A later call may ask for more trials, and a killed search continues
    and ends in the same result.

    Args:
        data: A dataset's name or path, or several, of which the mean counts.
        fit: The settings that are not searched: a `FitConfig`, a preset's name, or settings such as
            `{"preset": "paper", "epochs": 10}`.
        out: A directory.
        trials: How many settings are tried, including the trials in `out`.
        evaluation_horizon: R² is averaged over 1 to this many steps ahead.
        workers: Processes of one thread each, for a trial's datasets.
        force: Replace the result of another search in `out`; fits that it shares are kept.
    """
    if isinstance(data, Episodes):
        raise FarstepError("tune takes the path of its data; write the episodes to a file first.")
    names = [str(one) for one in ([data] if isinstance(data, str | Path) else data)]
    counts = {"trials": trials, "evaluation_horizon": evaluation_horizon, "workers": workers}
    check_counts(dict.fromkeys(counts, 1), counts)
    searched = sorted(set(fit) & set(SPACE)) if isinstance(fit, Mapping) else []
    if searched:
        raise FarstepError(f"tune searches {', '.join(searched)}; leave that out of fit.")
    base = chosen_fit(fit, "default")
    fingerprints = _check_data(names, evaluation_horizon)
    require("tune")
    config = {"fit": base, "evaluation_horizon": evaluation_horizon}
    with RunDirectory(out, "tune", config, fingerprints, force=force).open() as run:
        run.save_config()
        search = _Search(names, base, evaluation_horizon, Store(Path(out) / "runs"), workers)
        study = search.study(trials)
        found = Tuned(search.fit(study.best_params), study.best_value, _rows(study))
        run.finish({"value": found.value, "fit": found.config, "trials": found.trials})
        return found


def _check_data(names: Sequence[str], evaluation_horizon: int) -> dict[str, str]:
    """Return the datasets' fingerprints; fail unless their validation episodes are long enough."""
    if not names:
        raise FarstepError("data must name at least one dataset.")
    found = {}
    for name in names:
        data = read_dataset(name)
        longest = int(data.split().validation.lengths.max())
        if longest < evaluation_horizon:
            raise FarstepError(
                f"{name}: the validation episodes have at most {longest} steps; set "
                f"evaluation_horizon to at most that, not {evaluation_horizon}."
            )
        found[name] = data.fingerprint
    return found


@dataclass(frozen=True)
class _Search:
    """A search, whose trials are runs in a store."""

    names: list[str]
    base: FitConfig
    evaluation_horizon: int
    store: Store
    workers: int

    def study(self, trials: int) -> "optuna.Study":
        """Return a study of so many trials.

        It is repeated from the first trial: each one draws from a sampler with a seed of its own,
        so that it depends on the trials before it only, whose fits are read.
        """
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=5)
        study = optuna.create_study(direction="maximize", pruner=pruner)
        for number in range(trials):
            study.sampler = optuna.samplers.TPESampler(seed=self.base.seed + number)
            study.optimize(self.objective, n_trials=1)
        return study

    def objective(self, trial: "optuna.Trial") -> float:
        """Return the mean over datasets, after a short fit that may end the trial."""
        import optuna

        fit = self.fit({name: suggest(trial) for name, suggest in SPACE.items()})
        trial.report(self._value(_shortened(fit)), step=0)
        if trial.should_prune():
            raise optuna.TrialPruned
        return self._value(fit)

    def fit(self, settings: Mapping[str, Any]) -> FitConfig:
        """Return a trial's configuration."""
        return replace(self.base, **settings)

    def _value(self, fit: FitConfig) -> float:
        runs = [TrialFit(name, fit, self.evaluation_horizon) for name in self.names]
        if self.workers == 1 or len(runs) == 1:
            found = [self.store.run(run) for run in runs]
        else:
            done = run_all(runs, self.store.run, self.workers)  # in the order in which they end
            found = [done[run] for run in runs]
        return float(np.mean([one["value"] for one in found]))


def _rows(study: "optuna.Study") -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "number": trial.number,
            "value": trial.value if trial.state.name == "COMPLETE" else None,
            "settings": dict(trial.params),
        }
        for trial in study.get_trials()
    )


def _shortened(config: FitConfig) -> FitConfig:
    if config.epochs:
        return replace(config, epochs=max(1, config.epochs // _PILOT))
    assert config.model_steps is not None, "FitConfig has one of the two"
    return replace(config, model_steps=max(1, config.model_steps // _PILOT))
