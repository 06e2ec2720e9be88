"""The datasets that come with the package, and the recipes that make them."""

from pathlib import Path

import numpy as np
import pytest

from farstep.datasets import shipped
from farstep.datasets.reading import write
from farstep.errors import FarstepError
from farstep.fields import changed
from farstep.imagination.config import ImagineConfig
from farstep.loops.iterate import IteratedSeed
from farstep.recipes import AGENT, LOOPS, RECIPES, make_dataset
from farstep.systems.registry import system


@pytest.mark.parametrize("name", shipped.names())
def test_a_shipped_set_is_what_its_record_says(name: str):
    data, record = shipped.load(name), shipped.records()[name]
    assert data.fingerprint == record["fingerprint"]
    assert (len(data), data.num_steps) == (record["episodes"], record["steps"]) == (50, 50_000)
    assert record["seed"] == RECIPES[name].seed
    assert data.system is not None
    assert data.signals == system(data.system).signals
    assert [len(part) for part in data.split()] == [36, 4, 10]


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_of_a_recipe_makes_sense(name: str):
    loop = LOOPS[name]
    loop.fit.check()
    loop.imagination.check()
    loop.imagination.check_members(loop.fit.members)
    seed = IteratedSeed(name, loop.fit, AGENT, loop.imagination, epochs=1, seed=0, warm=loop.warm)
    seed.check()
    recorded = [recipe.settings.get("imagination") for recipe in RECIPES.values()]
    assert changed(loop.imagination, ImagineConfig()) in recorded


def test_the_recipe_reproduces_the_random_set(tmp_path: Path):
    name = "cartpole-swingup/random"
    data, there = make_dataset(name, tmp_path / "work", workers=2), shipped.load(name)
    np.testing.assert_array_equal(data.actions, there.actions)
    # On another processor the last bits of the physics differ, and an episode's end with them.
    early, expected = ([episode.states[:50] for episode in one] for one in (data, there))
    np.testing.assert_allclose(early, expected, atol=1e-4)
    assert data.metadata == there.metadata


def test_a_shipped_set_is_its_file(tmp_path: Path):
    name = "cartpole-swingup/random"
    data, record = shipped.load(name), shipped.records()[name]
    assert data.fingerprint == record["fingerprint"]
    assert shipped.file_sha256(write(data, tmp_path / "random")) == record["sha256"]


def test_an_unknown_name_and_a_damaged_set_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(FarstepError, match="Did you mean 'cartpole-swingup/random'"):
        shipped.load("cartpole/random")
    monkeypatch.setattr(shipped, "file_sha256", lambda _: "0" * 64)
    with pytest.raises(FarstepError, match="is damaged; install farstep again"):
        shipped.load("cartpole-swingup/random")
