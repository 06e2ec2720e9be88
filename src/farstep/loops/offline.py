"""Pure-batch RL: a dataset in; a model, an agent inside it, and its real return out."""

import dataclasses
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig, agent_config
from farstep.agents.curve import AgentCurve
from farstep.agents.train import train
from farstep.agents.training import mean_return
from farstep.datasets.reading import read, write
from farstep.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import changed, identity_of, replaced
from farstep.files import locked, publish
from farstep.fitting.config import PAPER, FitConfig
from farstep.fitting.fit import fit
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import check_alike, imagine, require_sb3
from farstep.runs.pool import run_all
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.scoring.intervals import half_width
from farstep.systems.registry import import_attribute, system_of
from farstep.systems.registry import system as system_named
from farstep.systems.system import System
from farstep.weights import profile

R2_STEPS = (1, 10, 25, 50, 100)
"""Steps ahead at which the models' R² is reported."""
_COLUMNS = {
    "return": "return",
    "imagined return": "imagined_return",
    "return of the best": "best_return",
    "fit, s": "fit_seconds",
    "agent, s": "agent_seconds",
}
_RESULT = "result.json"
_FRESH = 1_000_000
"""Added to the seed: other episodes than the evaluations', which chose the best policy."""
_EPISODES = 10
"""Of the last policy on the real system, for the result."""


@dataclass(frozen=True)
class OfflineSeed:
    """One seed: everything that its result depends on."""

    data: str
    fit: FitConfig
    agent: AgentConfig
    imagination: ImagineConfig
    seed: int
    system: str | None = None
    weights_source: str = ""
    """Of weights that are a function of the user's own."""
    force: bool = dataclasses.field(default=False, compare=False)
    """Start over where other settings left something."""

    def run(self, folder: Path) -> dict[str, Any]:
        """Return the result; stages that `folder` holds already are not computed again."""
        place = folder / f"seed-{self.seed}"
        with locked(place):
            data = read(self.data)
            identity = identity_of(run=self._told(), data=data.fingerprint)
            stored = None if self.force else _stored(place / _RESULT, identity)
            if stored is not None:
                return stored
            result = {"identity": identity, "seed": self.seed, **self._compute(data, place)}
            text = json.dumps(result, indent=1, allow_nan=False)
            publish(place / _RESULT, {"": text.encode()}, force=True)
            return result

    def _told(self) -> dict[str, Any]:
        """Return what the result depends on."""
        return {
            **asdict(replace(self, force=False)),
            "fit": changed(self.fit, PAPER),
            "agent": changed(self.agent, AgentConfig()),
            "imagination": changed(self.imagination, ImagineConfig()),
        }

    def _compute(self, data: Episodes, place: Path) -> dict[str, Any]:
        parts, system = data.split(), _system(self.system, data)
        learns, found = _learns_reward(self.imagination, system), []
        if learns and self.imagination.reward is None:
            found = [f"the reward of system '{system.name}' is not known; it was learned."]
        model = fit(
            parts.train,
            parts.validation,
            replace(self.fit, seed=self.seed),
            learn_reward=learns,
            out=place / "model",
            force=self.force,
        )
        with warnings.catch_warnings(record=True) as noticed:  # in the result, as notes
            warnings.simplefilter("always", DataWarning)
            imagined = imagine(model, system, parts.train, self.imagination)
            agent = train(
                imagined, self.agent, seed=self.seed, out=place / "agent", force=self.force
            )
        steps = [j for j in R2_STEPS if j <= parts.test.lengths.max()]
        episodes, fresh = _EPISODES if self.agent.eval_episodes else 0, self.seed + _FRESH
        returns = {
            "return": mean_return(system, agent.policy, episodes, fresh),
            "best_return": mean_return(system, agent.best, episodes, fresh),
        }
        scores = mean_r_squared(r_squared(model.dynamics, parts.test, steps[-1]))
        return {
            **returns,
            "imagined_return": agent.curve.last.get("imagined_return"),
            "r2": {str(j): _plain(scores[j - 1]) for j in steps},
            "notes": [*found, *_notes(noticed)],
            "fit_seconds": sum(sum(c["seconds"]) for c in model.record.get("curves", [])),
            "agent_seconds": agent.curve.last.get("seconds"),
            "curve": agent.curve.to_json(),
        }


@dataclass(frozen=True)
class Offline:
    """What pure-batch RL gave, over seeds."""

    results: tuple[dict[str, Any], ...]
    """One for each seed."""
    about: str
    """Of what, in a sentence."""

    @property
    def curves(self) -> list[AgentCurve]:
        """The learning curve of each seed."""
        return [AgentCurve.from_json(result["curve"]) for result in self.results]

    @property
    def notes(self) -> list[str]:
        """What was noticed on the way, with the seed."""
        return [f"seed {r['seed']}: {note}" for r in self.results for note in r["notes"]]

    @staticmethod
    def row(result: dict[str, Any]) -> list[float]:
        """Return one seed's numbers, in the order of `summary`."""
        named = [*(result[name] for name in _COLUMNS.values()), *result["r2"].values()]
        return [float("nan") if value is None else float(value) for value in named]

    def summary(self) -> dict[str, tuple[float, float]]:
        """Return mean and half of Student's 90 % interval over seeds, by name."""
        names = [*_COLUMNS, *(f"R²({j})" for j in self.results[0]["r2"])]
        values = np.array([self.row(result) for result in self.results])
        columns = zip(values.mean(axis=0), half_width(values), strict=True)
        return {
            name: (float(mean), float(half))
            for name, (mean, half) in zip(names, columns, strict=True)
        }


def offline(
    data: str | Path | Episodes,
    config: FitConfig | None = None,
    *,
    out: str | Path,
    seeds: int = 3,
    agent: AgentConfig | str | Mapping[str, Any] = "fast",
    system: str | None = None,
    imagination: ImagineConfig | Mapping[str, Any] | None = None,
    workers: int = os.cpu_count() or 1,
    force: bool = False,
    **settings: Any,
) -> Offline:
    """Fit a model on a dataset, train an agent inside it, and run it on the real system.

    The headline is the last policy's mean return over ten real episodes, as in the paper; the
    best policy was chosen by looking at the real system, which batch RL may not do.

    Args:
        data: The name of a shipped set, a path, or episodes.
        config: How the model is fitted; settings given by name replace its fields.
        out: A directory; every stage of every seed is kept there and used again.
        seeds: How many; they count up from the fit's own.
        agent: The name of a preset; settings such as `{"preset": "fast", "steps": 100_000}`; or an
            `AgentConfig`.
        system: What is known of the system; the data's own without it.
        imagination: Settings of `imagine`, such as `{"bounds": 0.1}`. With `reward="learned"`, or
            where the system's reward is not known, the reward is learned.
        workers: Processes of one thread each; 1 runs in this process.
        force: Start over where `out` holds other settings.
        **settings: Fields of `FitConfig`, such as `horizon=4`; `weights` as for `fit`.
    """
    if seeds < 1:
        raise FarstepError(f"the number of seeds must be at least 1, not {seeds}.")
    base = config or FitConfig(target="delta")
    weights = profile(settings.pop("weights", base.weights), _imported)
    base = replaced(base, {**settings, "weights": weights.text})
    base.check()
    chosen = _agent(agent)
    how = imagination if isinstance(imagination, ImagineConfig) else ImagineConfig()
    how = replaced(how, imagination) if isinstance(imagination, Mapping) else how
    given = data if isinstance(data, Episodes) else read(data)
    _check(given, system, how, chosen, base)
    if isinstance(data, Episodes):
        data = write(data, Path(out) / "offline-data.npz", force=True)
    first = OfflineSeed(
        data=str(data),
        fit=replace(base, seed=0),
        agent=chosen,
        imagination=how,
        seed=base.seed,
        system=system,
        weights_source=weights.source,
        force=force,
    )
    return _all_seeds(first, seeds, Path(out), workers)


def _notes(noticed: Sequence[warnings.WarningMessage]) -> list[str]:
    """Return what Farstep warned of; what others did is shown as it was."""
    for one in noticed:
        if not issubclass(one.category, DataWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return [str(one.message) for one in noticed if issubclass(one.category, DataWarning)]


def _all_seeds(first: OfflineSeed, seeds: int, folder: Path, workers: int) -> Offline:
    runs = [replace(first, seed=first.seed + number) for number in range(seeds)]
    if workers == 1:
        found = {run: run.run(folder) for run in runs}
    else:
        found = run_all(runs, folder, min(workers, seeds))
    agent = first.agent
    about = (
        f"{first.data}: h = {first.fit.horizon}, weights {first.fit.weights}; {agent.agent}, "
        f"{agent.steps} steps in {agent.num_envs} imagined system(s), {agent.gradient_steps} "
        f"update(s) after each step of all; {seeds} seed(s)"
    )
    done = Offline(tuple(found[run] for run in runs), about)
    for note in done.notes:
        warnings.warn(note, DataWarning, stacklevel=3)
    return done


def _agent(agent: AgentConfig | str | Mapping[str, Any]) -> AgentConfig:
    if isinstance(agent, AgentConfig):
        agent.check()
        return agent
    settings = {"preset": agent} if isinstance(agent, str) else {"preset": "fast", **agent}
    return agent_config(**settings)


def _check(
    data: Episodes, system: str | None, how: ImagineConfig, agent: AgentConfig, fit: FitConfig
) -> None:
    """Say what is wrong before anything is fitted."""
    how.check()
    how.check_members(fit.members)
    known = _system(system, data)
    check_alike("data", data.signals, known)
    if fit.stride != 1:
        raise FarstepError("an agent needs a model of single steps; leave stride at 1.")
    known.check_bounded()
    if _learns_reward(how, known) and data.rewards is None:
        raise FarstepError(
            f"the reward of system '{known.name}' is not known and the data have none; record "
            "them, or give the system a reward function."
        )
    if agent.agent != "sac":
        require_sb3()


def _system(name: str | None, data: Episodes) -> System:
    return system_of(data) if name is None else system_named(name)


def _learns_reward(how: ImagineConfig, system: System) -> bool:
    return how.reward == "learned" or (how.reward is None and system.reward is None)


def _imported(reference: str) -> Any:
    return import_attribute(reference, from_here=True)


def _plain(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _stored(path: Path, identity: str) -> dict[str, Any] | None:
    try:
        result = json.loads(path.read_text())
        return result if result["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
