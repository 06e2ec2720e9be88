"""Work that can be killed: four toy tasks, and the result of each, to be compared bit by bit."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cart
from farstep.agents.config import AgentConfig
from farstep.agents.train_agent import train_agent
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.model_env.model_env import ModelEnv
from farstep.models.model import load_model
from farstep.storage import tensors
from farstep.systems.network_policy import load_policy
from farstep.training.config import FitConfig, fit_config
from farstep.training.fit import fit
from farstep.workflows.iterate import iterate
from farstep.workflows.real_episodes import read_episodes
from farstep.workflows.runs import Store
from farstep.workflows.sweep import sweep
from farstep.workflows.tune import TrialFit

_FIT: FitConfig = fit_config(**{**cart.TINY_FIT, "width": 8, "depth": 1, "model_steps": None})
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
    """Work that is started again after each kill until it is finished."""

    name: str
    run: Callable[[Path], None]
    result: Callable[[Path], Any]
    """Returns its result as JSON, without durations."""


def _fit(out: Path) -> None:
    config = dataclasses.replace(_FIT, epochs=60, weights="learned")
    fit(cart.data(24), cart.data(1, seed=1), config, out=out / "model")


def _model_result(folder: Path) -> Any:
    found = load_model(folder)
    return tensors.digest(tensors.to_arrays(found.dynamics)), timeless(found.record["curves"])


def _agent(out: Path) -> None:
    env = ModelEnv(cart.model(), cart.CART, cart.data())
    train_agent(env, _AGENT, seed=0, out=out / "agent")


def _agent_result(folder: Path) -> Any:
    policies = [load_policy(folder / f"{name}.safetensors") for name in ("policy", "best")]
    learner, _ = tensors.decode(folder / "learner.safetensors", "learner")
    actions = [policy.predict(np.ones((4, 2), np.float32)).tolist() for policy in policies]
    return actions, tensors.digest(learner), timeless(policies[0].record["curve"])


def _iterate(out: Path) -> None:
    agent = dataclasses.replace(_AGENT, steps=60, net_arch=(8,), eval_every=20)
    iterate(
        "cart_env:SYSTEM",
        fit=dataclasses.replace(_FIT, epochs=6),
        agent=agent,
        warm_start="both",
        episodes=2,
        seeds=1,
        out=out / "loop",
        workers=1,
    )


def _iterate_result(out: Path) -> Any:
    seed = out / "loop" / "seed-0"
    episodes = [seed / "episode-000", seed / "episode-001"]
    return (
        read_episodes(seed / "episodes").fingerprint,
        [_model_result(one / "model") for one in episodes],
        [_agent_result(one / "agent") for one in episodes],
        [timeless(json.loads((one / "result.json").read_text())["result"]) for one in episodes],
    )


def _trials(out: Path) -> list[TrialFit]:
    config = dataclasses.replace(_FIT, epochs=20)
    log = str(out / "log.npz")
    return [TrialFit(log, dataclasses.replace(config, horizon=h), 5) for h in (1, 2)]


def _sweep(out: Path) -> None:
    write_dataset(cart.data(24), out / "log.npz", force=True)
    sweep(_trials(out), out / "runs", workers=1)


def _sweep_result(out: Path) -> Any:
    store = Store(out / "runs")
    models = [store.directory(run) / "model" for run in _trials(out)]
    return [store.result(run) for run in _trials(out)], [_model_result(one) for one in models]


TASKS = {
    task.name: task
    for task in (
        Task("fit", _fit, lambda out: _model_result(out / "model")),
        Task("agent", _agent, lambda out: _agent_result(out / "agent")),
        Task("iterate", _iterate, _iterate_result),
        Task("sweep", _sweep, _sweep_result),
    )
}


def timeless(value: Any) -> Any:
    """Return JSON without durations and fingerprints."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if "seconds" not in k and k != "fingerprint"}
        return {name: timeless(one) for name, one in kept.items()}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def named_files(out: Path) -> list[Path]:
    """Return the files under their final names, checkpoints included."""
    return [
        path
        for path in sorted(out.rglob("*"))
        if path.suffix in (".safetensors", ".npz", ".json")
        and not any(part.startswith(".") for part in path.relative_to(out).parts)
    ]


def incomplete(out: Path) -> tuple[int, list[str]]:
    """Return the number of files under their final names, and the errors of those that are cut."""
    paths, errors = named_files(out), []
    for path in paths:
        try:
            if path.suffix == ".safetensors":
                tensors.decode(path, "file")
            elif path.suffix == ".npz":
                read_dataset(path)
            else:
                json.loads(path.read_text())
        except ValueError as error:  # a FarstepError is one
            errors.append(str(error))
    return len(paths), errors
