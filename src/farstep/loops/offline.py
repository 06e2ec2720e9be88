"""Pure-batch RL: a dataset in; a model, an agent inside it, and its real return out."""

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig
from farstep.agents.curve import AgentCurve
from farstep.agents.train import train
from farstep.agents.training import mean_return
from farstep.datasets.reading import read, write
from farstep.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import check_least, identity_of
from farstep.files import locked
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import fit
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import check_alike, imagine
from farstep.json_numbers import json_numbers
from farstep.loops.shared import (
    CAREFUL,
    agent_settings,
    described,
    fit_seconds,
    imagine_settings,
    learned_note,
    learns_reward,
    model_settings,
    own_notes,
    read_result,
    run_seeds,
    told,
    write_result,
)
from farstep.model import Model
from farstep.processes import usable_cores
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.scoring.intervals import half_width
from farstep.systems.registry import system as system_named
from farstep.systems.registry import system_of
from farstep.systems.system import System

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
"""Of the policy on the real system, for the result."""
_REAL = ("return", "best_return")
"""Results that are not there where nothing was run."""


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
            stored = None if self.force else read_result(place / _RESULT, identity)
            if stored is not None:
                return stored
            result = {"identity": identity, "seed": self.seed, **self._compute(data, place)}
            write_result(place / _RESULT, result)
            return result

    def _told(self) -> dict[str, Any]:
        """Return what the result depends on."""
        return {
            **asdict(replace(self, force=False)),
            **told(self.fit, self.agent, self.imagination, self.system),
        }

    def _compute(self, data: Episodes, place: Path) -> dict[str, Any]:
        parts, system = data.split(), _system(self.system, data)
        _check_made(system)
        model = fit(
            parts.train,
            parts.validation,
            replace(self.fit, seed=self.seed),
            learn_reward=learns_reward(self.imagination, system),
            out=place / "model",
            force=self.force,
        )
        return self.inside(model, data, place)

    def inside(self, model: Model, data: Episodes, place: Path) -> dict[str, Any]:
        """Return what an agent that is trained inside a model gives."""
        parts, system = data.split(), _system(self.system, data)
        with warnings.catch_warnings(record=True) as noticed:  # in the result, as notes
            warnings.simplefilter("always", DataWarning)
            imagined = imagine(model, system, parts.train, self.imagination)
            agent = train(
                imagined, self.agent, seed=self.seed, out=place / "agent", force=self.force
            )
        steps = [j for j in R2_STEPS if j <= parts.test.lengths.max()]
        fresh, compared = self.seed + _FRESH, agent.curve.best is not None
        returns = {
            "return": mean_return(system, agent.policy, _EPISODES, fresh),
            "best_return": mean_return(system, agent.best, _EPISODES if compared else 0, fresh),
        }
        scores = mean_r_squared(r_squared(model.dynamics, parts.test, steps[-1]))
        return {
            **returns,
            "imagined_return": agent.curve.of_policy(self.agent.keep).get("imagined_return"),
            "r2": {str(j): json_numbers(scores[j - 1]) for j in steps},
            "notes": [*learned_note(self.imagination, system), *own_notes(noticed)],
            "fit_seconds": fit_seconds(model),
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
    recorded: float = float("nan")
    """What the data's own actions earn in an episode. Where none of the data's ended its task, that
    is their mean reward times the steps of the system's episodes; else what they earned."""

    @property
    def curves(self) -> list[AgentCurve]:
        """The learning curve of each seed."""
        return [AgentCurve.from_json(result["curve"]) for result in self.results]

    @property
    def notes(self) -> list[str]:
        """What was noticed on the way, with the seed."""
        return [f"seed {r['seed']}: {note}" for r in self.results for note in r["notes"]]

    @property
    def _columns(self) -> dict[str, str]:
        """What there is, by what it is called: of a system that was not run no real return."""
        there = {n for result in self.results for n in result if result[n] is not None}
        return {s: n for s, n in _COLUMNS.items() if n in there or n not in _REAL}

    def row(self, result: dict[str, Any]) -> list[float]:
        """Return one seed's numbers, in the order of `summary`."""
        named = [*(result[name] for name in self._columns.values()), *result["r2"].values()]
        return [float("nan") if value is None else float(value) for value in named]

    def summary(self) -> dict[str, tuple[float, float]]:
        """Return mean and half of Student's 90 % interval over seeds, by name."""
        names = [*self._columns, *(f"R²({j})" for j in self.results[0]["r2"])]
        values = np.array([self.row(result) for result in self.results])
        columns = zip(values.mean(axis=0), half_width(values), strict=True)
        return {
            name: (float(mean), float(half))
            for name, (mean, half) in zip(names, columns, strict=True)
        }


def offline(
    data: str | Path | Episodes,
    config: FitConfig | str = "ensemble",
    *,
    out: str | Path,
    seeds: int = 3,
    agent: AgentConfig | str | Mapping[str, Any] = "thorough",
    system: str | None = None,
    imagination: ImagineConfig | Mapping[str, Any] | None = None,
    workers: int = usable_cores(),
    force: bool = False,
    **settings: Any,
) -> Offline:
    """Fit a model on a dataset, train an agent inside it, and run it on the real system.

    The headline is the policy's mean return over ten real episodes, whatever `eval_episodes` of
    the agent is. The best policy of the real evaluations was chosen by looking at the real system,
    which batch RL may not do; without evaluations (`eval_episodes=0`) there is none. Of a system
    that cannot be run (a `System` with `env_id=None`) there are imagined returns only.

    Args:
        data: The name of a shipped set, a path, or episodes.
        config: How the model is fitted, or the name of a preset; settings given by name replace
            its fields.
        out: A directory; every stage of every seed is kept there and used again.
        seeds: How many; they count up from the fit's own.
        agent: The name of a preset; settings such as `{"preset": "fast", "steps": 100_000}`; or an
            `AgentConfig`.
        system: What is known of the system; the data's own without it.
        imagination: Settings of `imagine`, such as `{"bounds": 0.1}`; without others episodes
            of 300 steps from any recorded state, and in an ensemble one member in each, seen with
            noise of 0.8, which ends where it leaves the data's range, and with a penalty of 20 on
            what the members do not agree about. With `reward="learned"`, or where the system's
            reward is not known, the reward is learned.
        workers: Processes of one thread each; 1 runs in this process.
        force: Start over where `out` holds other settings.
        **settings: Fields of `FitConfig`, such as `horizon=4`; `weights` as for `fit`, but a
            function must be one that can be imported as `module:function`, so no lambda.
    """
    check_least({"seeds": 1}, {"seeds": seeds})
    base, weights = model_settings(config, settings)
    chosen = agent_settings(agent)
    how = imagine_settings(imagination, base.members, CAREFUL)
    recorded = _check(data if isinstance(data, Episodes) else read(data), system, how)
    if isinstance(data, Episodes):
        data = _kept(data, Path(out))
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
    return replace(_all_seeds(first, seeds, Path(out), workers), recorded=recorded)


def _all_seeds(first: OfflineSeed, seeds: int, folder: Path, workers: int) -> Offline:
    runs = [replace(first, seed=first.seed + number) for number in range(seeds)]
    about = f"{first.data}: {described(first.fit, first.agent)}; {seeds} seed(s)"
    done = Offline(tuple(run_seeds(runs, folder, workers)), about)
    for note in done.notes:
        warnings.warn(note, DataWarning, stacklevel=3)
    return done


def _kept(data: Episodes, folder: Path) -> Path:
    """Return the file of the data for the workers: by its name no other data are ever in it."""
    content = identity_of(data=data.fingerprint, system=data.system, metadata=dict(data.metadata))
    path = folder / f"offline-data-{content[:16]}.npz"
    with locked(folder):
        return path if path.exists() else write(data, path)


def _check_made(system: System) -> None:
    """Fail before a model is fitted if the system could not be run after it."""
    if system.env_id is None:
        return
    try:
        system.make().close()
    except FarstepError as error:
        raise FarstepError(
            f"{str(error).rstrip('.')}. The result is of real episodes; give a system that cannot "
            "be run env_id=None."
        ) from error


def _check(data: Episodes, system: str | None, how: ImagineConfig) -> float:
    """Say what is wrong before anything is fitted; return what episodes like the data's earn."""
    known = _system(system, data)
    check_alike("data", data.signals, known)
    known.check_bounded()
    known.check_actions(data)
    known.check_known_parts()
    how.check_system(known)
    if learns_reward(how, known) and data.rewards is None:
        raise FarstepError(
            f"the reward of system '{known.name}' is to be learned, and the data have none; record "
            "rewards, or give the system a reward function and leave out reward=learned."
        )
    rewards = data.rewards if learns_reward(how, known) else known.rewards_of(data)
    assert rewards is not None, "checked before"
    if data.terminated.any():  # longer ones would not have gone on
        return float(np.add.reduceat(rewards, data.step_offsets[:-1], dtype=float).mean())
    return float(rewards.mean(dtype=float)) * known.episode_steps


def _system(name: str | None, data: Episodes) -> System:
    return system_of(data) if name is None else system_named(name)
