"""Models fitted on traces: the episodes of SAC agents while they learn on real systems.

No preset was tuned on the shipped sets or on the traces named `unseen`. Traces and models are kept
in `benchmarks/work`: a trace takes about 8 minutes of one core, a model one or two.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.harness import WORK, size, with_interval
from farstep import Episodes, FitConfig, evaluate, fit, load_model, train_agent
from farstep.errors import DivergedError
from farstep.evaluation.rollout_errors import mean_r_squared, r_squared
from farstep.models.contract import Dynamics
from farstep.models.ensemble import Ensemble
from farstep.runtime.processes import usable_cores
from farstep.storage.fingerprint import fingerprint_of
from farstep.workflows.worker_pool import run_all

HORIZONS = size((1, 10, 25, 50, 100), (1, 5, 10))
TRACES = {
    "clean": ("cartpole-swingup", 0),
    "noisy": ("cartpole-swingup-noisy", 0),
    "clean-unseen": ("cartpole-swingup", 1),
    "noisy-unseen": ("cartpole-swingup-noisy", 1),
    "pendulum-swingup": ("pendulum-swingup", 0),
    "half-cheetah": ("half-cheetah", 0),
}
"""System and seed of each trace."""
STEPS = size(50_000, 4_000)
QUICK: dict[str, Any] = size({}, {"net_arch": (8,), "batch_size": 8, "eval_episodes": 0})


@dataclass(frozen=True)
class TraceFit:
    """A fit on a trace."""

    trace: str
    config: FitConfig

    @property
    def parts(self) -> tuple[Episodes, Episodes, Episodes]:
        """Train, validation and test episodes of the trace."""
        return trace(self.trace).split()

    @property
    def folder(self) -> Any:
        """Where the model is kept."""
        told = fingerprint_of(trace=self.trace, steps=STEPS, config=asdict(self.config))
        return WORK / "fits" / f"{self.trace}-{told[:12]}"

    def measured(self) -> dict[str, Any]:
        """Fit; return R² on the test and validation episodes, the horizon and the seconds."""
        train, validation, test = self.parts
        try:
            model = fit(train, validation, self.config, out=self.folder)
        except DivergedError:
            return {"r2": [-np.inf] * len(HORIZONS), "validation": -np.inf}
        most = size(50, 10)
        return {
            "r2": r2(model.dynamics, test),
            "validation": float(mean_r_squared(r_squared(model.dynamics, validation, most)).mean()),
            "horizon": model.horizon,
            "seconds": model.record["seconds"],
        }


def trace(name: str) -> Episodes:
    """Return the episodes of a learning agent."""
    system, seed = TRACES[name]
    out = WORK / f"trace-{system}-{seed}-{STEPS}"
    settings = {"steps": STEPS, "eval_every": STEPS // 10, **QUICK}
    agent = train_agent(system, "online", seed=seed, out=out, **settings)
    assert agent.episodes is not None
    return agent.episodes


def measure(fits: Iterable[TraceFit]) -> dict[TraceFit, dict[str, Any]]:
    """Fit and measure all of them, on all cores."""
    todo = list(dict.fromkeys(fits))
    run_all(list(dict.fromkeys(one.trace for one in todo)), trace_once, workers=usable_cores())
    return run_all(todo, TraceFit.measured, workers=usable_cores())


def trace_once(name: str) -> None:
    """Make a trace, before several processes need it."""
    trace(name)


def ensemble_r2(fits: Iterable[TraceFit]) -> list[float]:
    """Return R² of the mean prediction of some fitted models."""
    several = list(fits)
    members = [load_model(one.folder).dynamics for one in several]
    return r2(Ensemble.of(members, "mean"), several[0].parts[2])


def oracle_r2(name: str) -> list[float]:
    """Return R² of the simulator on a trace's test episodes."""
    test = trace(name).split().test
    found = evaluate([], test, max(HORIZONS))["oracle"]
    return [found.at(j)[0] for j in HORIZONS]


def r2(dynamics: Dynamics, test: Episodes, horizons: tuple[int, ...] = HORIZONS) -> list[float]:
    """Return the mean R² over dimensions at some horizons."""
    values = mean_r_squared(r_squared(dynamics, test, max(horizons)))
    return [float(values[j - 1]) for j in horizons]


def cells(values: np.ndarray) -> list[str]:
    """Return a table's cells: the mean of each column over seeds, with its interval."""
    return [with_interval(column) for column in values.T]
