"""Small sizes for code that is written at real ones: documentation and examples in tests.

Every configuration is clamped when it is made, presets included; workflows run few episodes and
seeds, in this process; and the shipped datasets are cut.
"""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from farstep.agents import config as agent_config
from farstep.data import dataset_files
from farstep.data.episodes import Episodes
from farstep.model_env import config as env_config
from farstep.systems import cartpole
from farstep.training import config as fit_config

_MOST: dict[type, dict[str, Any]] = {
    fit_config.FitConfig: {
        **{"horizon": 4, "model_steps": 60, "epochs": 1, "width": 16, "depth": 2},
        **{"batch_size": 64, "ensemble_size": 2, "observer_steps": 4, "r2_horizon": 10},
    },
    agent_config.AgentConfig: {
        **{"steps": 200, "num_envs": 4, "gradient_steps": 1, "learning_starts": 20},
        **{"batch_size": 16, "eval_every": 100, "eval_episodes": 1, "net_arch": (16, 16)},
    },
    env_config.ModelEnvConfig: {"max_episode_steps": 50},
}
"""The largest value of some fields; lists of layers are replaced."""
_ARGUMENTS = {
    "farstep.workflows.offline.offline": {"seeds": 1, "workers": 1},
    "farstep.workflows.iterate.iterate": {"seeds": 1, "workers": 1, "episodes": 2},
    "farstep.workflows.tune.tune": {"trials": 2, "workers": 1},
    "farstep.systems.collect.collect": {"episodes": 5, "workers": 1},
}
"""The largest value of some arguments, given or not."""
_DATA_EPISODES, _DATA_STEPS = 20, 150
_SYSTEMS = ("swingup", "swingup_noisy")
_SYSTEM_STEPS = 150
"""Steps of a real episode of cartpole."""


def use_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink everything that is computed until the end of the test."""
    for kind, most in _MOST.items():
        monkeypatch.setattr(kind, "__post_init__", _clamped(kind, most))
    for presets in (fit_config.PRESETS, agent_config.PRESETS, env_config.PRESETS):
        for name, config in presets.items():
            monkeypatch.setitem(presets, name, dataclasses.replace(config))
    for path, most in _ARGUMENTS.items():
        module, _, name = path.rpartition(".")
        called = getattr(importlib.import_module(module), name)
        monkeypatch.setattr(path, _limited(called, most))
    for name in _SYSTEMS:
        short = dataclasses.replace(getattr(cartpole, name), max_episode_steps=_SYSTEM_STEPS)
        monkeypatch.setattr(cartpole, name, short)
    for module in ("sweep", "seeds", "tune"):
        monkeypatch.setattr(f"farstep.workflows.{module}.run_all", _in_this_process)
    monkeypatch.setattr(dataset_files, "load_dataset", _cut(dataset_files.load_dataset))
    monkeypatch.setattr("farstep.workflows.offline._EPISODES", 1)
    monkeypatch.setattr("farstep.evaluation.calibration.STARTS", 32)
    monkeypatch.setattr("farstep.evaluation.calibration.PARTICLES", 4)


def limit_stable_baselines3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let agents of Stable-Baselines3 learn for 200 steps at most."""
    import stable_baselines3

    for name in ("SAC", "TD3", "PPO"):
        kind = getattr(stable_baselines3, name)
        learn = kind.learn

        def short(self: Any, total_timesteps: int, *_: Any, learn: Any = learn, **named: Any):
            return learn(self, min(total_timesteps, 200), **named)

        monkeypatch.setattr(kind, "learn", short)


def _clamped(kind: type, most: Mapping[str, Any]) -> Callable[[Any], None]:
    check = kind.__post_init__

    def check_and_clamp(self: Any) -> None:
        check(self)
        uses = getattr(self, "uses", lambda _: True)
        for name, value in most.items():
            given = getattr(self, name)
            if given is None or not uses(name):
                continue
            small = value if isinstance(value, tuple) else min(given, value)
            object.__setattr__(self, name, small)

    return check_and_clamp


def _limited(called: Callable[..., Any], most: Mapping[str, int]) -> Callable[..., Any]:
    signature = inspect.signature(called)

    def limited(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        for name, value in most.items():
            bound.arguments[name] = min(bound.arguments.get(name, value), value)
        return called(*bound.args, **bound.kwargs)

    return limited


def _in_this_process(
    items: Any, work: Callable[[Any], Any], workers: int, needs: Any = None
) -> dict[Any, Any]:
    del workers, needs
    return {item: work(item) for item in items}


def _cut(load: Callable[[str], Episodes]) -> Callable[[str], Episodes]:
    def load_and_cut(name: str) -> Episodes:
        data = load(name)
        parts = [one.slice(0, _DATA_STEPS) for one in data.take(range(_DATA_EPISODES))]
        return Episodes.from_list(parts, data.signals, data.system, data.metadata)

    return load_and_cut
