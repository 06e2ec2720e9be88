"""`farstep train-agent`, `offline` and `iterate`: a tiny run of each."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cart
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.storage.fingerprint import plain
from farstep.systems.network_policy import load_policy


def words_of(settings: dict[str, Any], prefix: str = "") -> list[str]:
    """Return settings as options."""
    words: list[str] = []
    for name, value in settings.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{prefix}{name.replace('_', '-')}", *map(str, values)]
    return words


TINY = vars(cart.TINY)
FIT = words_of(cart.TINY_FIT, "fit.")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(cart.data(10), tmp_path_factory.mktemp("data") / "log.npz")


def test_train_agent_in_a_model(farstep: Callable, log: Path, tmp_path: Path):
    cart.model().save(tmp_path / "model.safetensors")
    out = tmp_path / "agent"
    words = ("train-agent", log, "--model", tmp_path / "model.safetensors", "--system", "cart:CART")
    result = farstep(*words, *words_of(TINY), "--env.max-episode-steps", 10, "--out", out)
    assert result.code == 0, result.err
    assert "120 steps" in result.out and "imagined return" in result.out
    assert load_policy(out).predict(np.zeros((3, 2), np.float32)).shape == (3, 1)
    for name in ("policy.safetensors", "best.safetensors", "curve.png", "curve.pdf"):
        assert f"wrote {out / name}" in result.out and (out / name).exists()
    config = json.loads((out / "config.json").read_text())["config"]
    assert config["agent"] == plain(cart.TINY)
    assert config["env"]["max_episode_steps"] == 10
    # Its own configuration names the same run; another preset is another run.
    words = (*words, "--out", out)
    time = (out / "policy.safetensors").stat().st_mtime_ns
    assert farstep(*words, "--config", out / "config.json").code == 0
    other = farstep(*words, "--config", out / "config.json", "--gamma", 0.5)
    assert other.code == 2 and "agent.gamma" in other.err
    assert (out / "policy.safetensors").stat().st_mtime_ns == time


def test_train_agent_on_a_real_system(farstep: Callable, tmp_path: Path):
    online = words_of({**TINY, "num_envs": 1, "steps": 60, "eval_every": 40})
    words = ("train-agent", "--system", "cart_env:SYSTEM", *online, "--out", tmp_path / "online")
    result = farstep(*words)
    assert result.code == 0, result.err
    assert read_dataset(tmp_path / "online" / "episodes.npz").num_steps >= 60
    assert "wrote" in result.out and "60 steps" in result.out
    several = farstep(*words, "--num-envs", 4, "--force")
    assert several.code == 2 and "num_envs" in several.err


def test_train_agent_needs_a_model_or_a_real_system(farstep: Callable, log: Path):
    for words in ((log,), (), (log, "--system", "cart:CART"), ("--env-kwargs", "a", 1)):
        result = farstep("train-agent", *words)
        assert result.code == 2 and result.err.startswith("farstep: ") and "system" in result.err


def test_offline_and_the_configuration_of_its_run(farstep: Callable, log: Path, tmp_path: Path):
    out = tmp_path / "offline"
    words = ("offline", log, "--seeds", 1, "--workers", 1, "--out", out)
    system = ("--system", "cart_env:SYSTEM")
    tiny = (*FIT, "--fit.preset", "default", *words_of({**TINY, "eval_episodes": 1}, "agent."))
    result = farstep(*words, *system, *tiny, "--env.observation-noise", 0.5)
    assert result.code == 0, result.err
    assert "seed 0" in result.out and "the data's own actions" in result.out
    stored = json.loads((out / "seed-0" / "config.json").read_text())["config"]
    assert stored["agent"] == plain(dataclasses.replace(cart.TINY, eval_episodes=1))
    assert stored["fit"]["width"] == 16 and stored["env"]["observation_noise"] == 0.5
    assert (out / "returns.png").exists() and (out / "seed-0" / "agent").is_dir()
    before = (out / "seed-0" / "result.json").read_text()
    again = farstep(*words, *system, "--config", out / "seed-0" / "config.json")
    assert again.code == 0, again.err
    assert (out / "seed-0" / "result.json").read_text() == before
    other = farstep(*words, *system, *tiny, "--env.observation-noise", 0.1)
    assert other.code == 2 and "observation_noise" in other.err


def test_iterate_continues_with_more_episodes(farstep: Callable, tmp_path: Path):
    out = tmp_path / "iterate"
    tiny = (*FIT, "--fit.preset", "default", *words_of(TINY, "agent."), "--env.preset", "default")
    words = ("iterate", "cart_env:SYSTEM", "--seeds", 1, "--workers", 1, "--out", out)
    result = farstep(*words, *tiny, "--episodes", 1)
    assert result.code == 0, result.err
    assert (out / "returns.pdf").exists() and (out / "seed-0" / "episode-000").is_dir()
    # Finished already, under its own configuration.
    again = farstep(*words, "--config", out / "seed-0" / "config.json", "--episodes", 1)
    assert again.code == 0 and "finished before" in again.out
    other = farstep(*words, *tiny, "--episodes", 1, "--warm-start", "none")
    assert other.code == 2 and "warm_start" in other.err
    wrong = farstep(*words, *tiny, "--warm-start", "mdel")
    assert wrong.code == 2
