"""The shipped datasets: their records, their recipes, and damage to them."""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from farstep.agents.config import AgentConfig
from farstep.data import dataset_files
from farstep.data.dataset_files import (
    SHIPPED,
    file_sha256,
    load_dataset,
    shipped_records,
    write_dataset,
)
from farstep.errors import FarstepError
from farstep.model_env.config import ModelEnvConfig
from farstep.storage.fingerprint import plain
from farstep.systems.collect import collect
from farstep.systems.registry import get_system, system_of
from farstep.workflows.dataset_recipes import AGENT, LOOPS, RECIPES

RANDOM = "cartpole-swingup/random"


@pytest.mark.parametrize("name", sorted(shipped_records()))
def test_a_shipped_set_is_what_its_record_says(name: str, tmp_path: Path):
    data, record = load_dataset(name), shipped_records()[name]
    assert data.fingerprint == record["fingerprint"]
    assert (len(data), data.num_steps) == (record["episodes"], record["steps"]) == (50, 50_000)
    assert record["seed"] == RECIPES[name].seed
    assert data.signals == system_of(data).signals
    assert [len(part) for part in data.split()] == [36, 4, 10]
    assert (data.clean_observations is not None) == ("noisy" in name)
    assert file_sha256(write_dataset(data, tmp_path / "again")) == record["sha256"]


def test_minari_can_recover_the_environment():
    metadata = json.loads((SHIPPED / RANDOM / "data" / "metadata.json").read_text())
    env = gymnasium.make(EnvSpec.from_json(metadata["env_spec"]))
    assert env.reset(seed=0)[0].shape == (5,)


def test_the_recipe_reproduces_the_first_random_episode():
    there = load_dataset(RANDOM)
    data = collect(get_system("cartpole-swingup"), episodes=1, seed=RECIPES[RANDOM].seed)
    np.testing.assert_array_equal(data[0].actions, there[0].actions)
    # On another processor the last bits of the physics differ, and an episode's end with them.
    np.testing.assert_allclose(data[0].observations[:50], there[0].observations[:50], atol=1e-4)
    recipe = dict(there.metadata["collected"])
    assert data.metadata["collected"] == {**recipe, "episodes": 1}


@pytest.mark.parametrize("name", ["cartpole-swingup/expert", "cartpole-swingup/expert_noisy"])
def test_the_loop_of_a_recipe_is_the_recorded_one(name: str):
    data, settings = load_dataset(name), shipped_records()[name]["settings"]
    loop = LOOPS[str(data.system)]
    assert plain(loop.fit) == {**plain(loop.fit), **settings["fit"]}
    assert plain(loop.env) == {**plain(ModelEnvConfig()), **settings["env"]}
    assert plain(AGENT) == {**plain(AgentConfig()), **settings["agent"]}
    assert settings["warm_start"] == loop.warm_start


def test_an_unknown_name_and_a_damaged_set_are_errors(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(FarstepError, match="Did you mean 'cartpole-swingup/random'"):
        load_dataset("cartpole/random")
    monkeypatch.setattr(dataset_files, "file_sha256", lambda _: "0" * 64)
    with pytest.raises(FarstepError, match="'cartpole-swingup/random' is damaged"):
        load_dataset("cartpole-swingup/random")
