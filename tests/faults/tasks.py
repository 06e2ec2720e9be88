"""Work that can be killed: four toy tasks, and what each gives, to compare to the bit."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.cart import CART, data, model
from tests.pendulum import pendulum

from farstep import tensors
from farstep.agents.config import AgentConfig
from farstep.agents.train import train
from farstep.datasets.reading import read, write
from farstep.exhibits import reproduce as exhibits
from farstep.exhibits.exhibit import Plan, Results, Shown
from farstep.fitting.config import fit_config
from farstep.fitting.fit import fit
from farstep.imagination.imagine import imagine
from farstep.loops.iterate import iterate
from farstep.loops.real_episodes import all_of
from farstep.model import load_model
from farstep.policy import load_policy
from farstep.runs.run import Run
from farstep.runs.scored_fit import ScoredFit

_TINY = fit_config("paper", width=8, depth=1, batch=64, dropout=0.0, patience=None)
_AGENT = AgentConfig(
    steps=3000,
    num_envs=4,
    learning_starts=20,
    batch_size=16,
    net_arch=(16, 16),
    eval_every=100,
    eval_episodes=0,
)


@dataclasses.dataclass(frozen=True)
class Task:
    """Something that is started again after each kill until it is done."""

    name: str
    run: Callable[[Path], None]
    told: Callable[[Path], Any]
    """What it gave, as JSON, without the times that it took."""


def _fit(out: Path) -> None:
    config = dataclasses.replace(_TINY, epochs=60, horizon=2, weights="learned")
    fit(pendulum(8), pendulum(1), config, out=out / "model")


def _model_told(folder: Path) -> Any:
    found = load_model(folder)
    return tensors.digest(tensors.to_arrays(found.dynamics)), timeless(found.record["curves"])


def _agent(out: Path) -> None:
    train(imagine(model(), CART, data()), _AGENT, seed=0, out=out / "agent")


def _agent_told(folder: Path) -> Any:
    policies = [load_policy(folder / f"{name}.safetensors") for name in ("policy", "best")]
    learner, _ = tensors.decode(folder / "learner.safetensors", "learner")
    acts = [policy(np.ones((4, policy.signals.num_states))).tolist() for policy in policies]
    return acts, tensors.digest(learner), timeless(policies[0].record["curve"])


def _iterate(out: Path) -> None:
    iterate(
        "Pendulum-v1",
        dataclasses.replace(_TINY, epochs=6, horizon=2),
        out=out / "loop",
        epochs=2,
        seeds=1,
        agent={
            **{"steps": 60, "num_envs": 2, "learning_starts": 10, "batch_size": 8},
            **{"net_arch": (8,), "eval_every": 20},
        },
        imagination={"reward": "learned"},
        warm="both",
        workers=1,
    )


def _iterate_told(out: Path) -> Any:
    place = out / "loop" / "seed-0"
    epochs = [place / "epoch-000", place / "epoch-001"]
    return (
        all_of(place / "episodes").fingerprint,
        [_model_told(epoch / "model") for epoch in epochs],
        [_agent_told(epoch / "agent") for epoch in epochs],
        [timeless(json.loads((epoch / "result.json").read_text())) for epoch in epochs],
    )


@dataclasses.dataclass(frozen=True)
class _Toy:
    """An exhibit of two small fits."""

    log: str
    name: str = "toy"
    about: str = "two fits"

    def runs(self, plan: Plan) -> Sequence[Run]:
        del plan
        config = dataclasses.replace(_TINY, epochs=20)
        return [ScoredFit(self.log, dataclasses.replace(config, horizon=h), 10) for h in (1, 2)]

    def show(self, plan: Plan, results: Results) -> Shown:
        return Shown(numbers={str(n): results[run] for n, run in enumerate(self.runs(plan))})


def _reproduce(out: Path) -> None:
    log = out / "log.npz"
    write(pendulum(8), log, force=True)
    exhibits.EXHIBITS["toy"] = _Toy(str(log))
    exhibits.reproduce("toy", out / "paper", "quick", workers=1)


def _reproduce_told(out: Path) -> Any:
    models = sorted((out / "paper" / "runs").glob("*/model"))
    numbers = json.loads((out / "paper" / "toy" / "quick" / "scores.json").read_text())
    return numbers, sorted(json.dumps(_model_told(one)) for one in models)


TASKS = {
    task.name: task
    for task in (
        Task("fit", _fit, lambda out: _model_told(out / "model")),
        Task("agent", _agent, lambda out: _agent_told(out / "agent")),
        Task("iterate", _iterate, _iterate_told),
        Task("reproduce", _reproduce, _reproduce_told),
    )
}


def timeless(value: Any) -> Any:
    """Return JSON without what was measured by a clock, and what follows from the place."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if "seconds" not in k and k != "identity"}
        return {name: timeless(one) for name, one in kept.items()}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def kept_in(out: Path) -> list[Path]:
    """Return the files that are there under their own names."""
    return [
        path
        for path in sorted(out.rglob("*"))
        if path.suffix in (".safetensors", ".npz", ".json")
        and not any(part.startswith(".") for part in path.relative_to(out).parts)
    ]


def not_whole(out: Path) -> tuple[int, list[str]]:
    """Return how many files are there under their own names, and those that are not whole."""
    paths, wrong = kept_in(out), []
    for path in paths:
        try:
            if path.suffix == ".safetensors":
                tensors.decode(path, "file")
            elif path.suffix == ".npz":
                read(path)
            else:
                json.loads(path.read_text())
        except ValueError as error:  # which a FarstepError is
            wrong.append(str(error))
    return len(paths), wrong
