"""Pure-batch RL: a dataset in; a model, an agent inside it, and its real return out."""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from farstep.agents.config import AgentConfig, agent_config
from farstep.agents.curve import AgentCurve
from farstep.agents.imagined import mean_return
from farstep.agents.train import train
from farstep.datasets.reading import read, write
from farstep.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.fields import identity_of, replaced
from farstep.files import locked, publish
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import fit
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import imagine
from farstep.runs.pool import run_all
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.scoring.intervals import half_width
from farstep.weights import Losses, Profile, profile

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

    def run(self, folder: Path) -> dict[str, Any]:
        """Return the result; stages that `folder` holds already are not computed again."""
        place = folder / f"seed-{self.seed}"
        with locked(place):
            data = read(self.data)
            identity = identity_of(run=asdict(self), data=data.fingerprint)
            stored = _stored(place / _RESULT, identity)
            if stored is not None:
                return stored
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always", DataWarning)
                result = self._compute(data, place)
            notes = [str(n.message) for n in noted if issubclass(n.category, DataWarning)]
            result |= {"identity": identity, "seed": self.seed, "notes": notes}
            publish(place / _RESULT, {"": json.dumps(result, indent=1).encode()}, force=True)
            return result

    def _compute(self, data: Episodes, place: Path) -> dict[str, Any]:
        parts = data.split()
        model = fit(
            parts.train,
            parts.validation,
            replace(self.fit, seed=self.seed),
            learn_reward=self.imagination.reward == "learned",
            out=place / "model",
        )
        imagined = imagine(model, self.system, parts.train, self.imagination)
        agent = train(imagined, self.agent, seed=self.seed, out=place / "agent")
        system, steps = imagined.system, [j for j in R2_STEPS if j <= parts.test.lengths.max()]
        returns = {"return": None, "best_return": None}
        if self.agent.eval_episodes:
            # Other episodes than those that chose the best policy.
            fresh = self.seed + 1_000_000
            returns = {
                "return": mean_return(system, agent.policy, _EPISODES, fresh),
                "best_return": mean_return(system, agent.best, _EPISODES, fresh),
            }
        scores = mean_r_squared(r_squared(model.dynamics, parts.test, steps[-1]))
        return {
            **returns,
            "imagined_return": agent.curve.last.get("imagined_return"),
            "r2": {str(j): round(float(scores[j - 1]), 6) for j in steps},
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
    weights: str | Profile | Callable[[Losses], Losses] | Sequence[float | int] | None = None,
    seeds: int = 3,
    agent: AgentConfig | str = "fast",
    system: str | None = None,
    imagination: ImagineConfig | None = None,
    workers: int = os.cpu_count() or 1,
    **settings: Any,
) -> Offline:
    """Fit a model on a dataset, train an agent inside it, and run it on the real system.

    The headline is the last policy's mean return over ten real episodes, as in the paper; the
    best policy was chosen by looking at the real system, which batch RL may not do.

    Args:
        data: The name of a shipped set, a path, or episodes.
        config: How the model is fitted; settings given by name replace its fields.
        out: A directory; every stage of every seed is kept there and used again.
        weights: Of the horizons, as for `fit`.
        seeds: How many; they count up from the fit's own.
        agent: The agent's settings, or the name of a preset.
        system: What is known of the system; the data's own without it.
        imagination: How the model is imagined in; with `reward="learned"` the reward is learned.
        workers: Processes of one thread each.
        **settings: Fields of `FitConfig`, such as `horizon=4`.
    """
    if isinstance(data, Episodes):
        data = write(data, Path(out) / "data.npz", force=True)
    if seeds < 1:
        raise FarstepError(f"the number of seeds must be at least 1, not {seeds}.")
    base = replaced(config or FitConfig(target="delta"), settings)
    if weights is not None:
        base = replace(base, weights=profile(weights).text)
    base.check()
    chosen = agent_config(agent) if isinstance(agent, str) else agent
    chosen.check()
    runs = [
        OfflineSeed(
            data=str(data),
            fit=replace(base, seed=0),
            agent=chosen,
            imagination=imagination or ImagineConfig(),
            seed=base.seed + number,
            system=system,
        )
        for number in range(seeds)
    ]
    found = run_all(runs, Path(out), min(workers, seeds))
    about = (
        f"{data}: h = {base.horizon}, weights {base.weights}; {chosen.agent}, {chosen.steps} "
        f"steps in {chosen.num_envs} imagined system(s), {chosen.gradient_steps} update(s) after "
        f"each step of all; {seeds} seed(s)"
    )
    return Offline(tuple(found[run] for run in runs), about)


def _stored(path: Path, identity: str) -> dict[str, Any] | None:
    try:
        result = json.loads(path.read_text())
        return result if result["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
