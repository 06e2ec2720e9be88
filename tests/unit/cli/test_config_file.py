"""Configuration files: YAML, JSON and the config.json of runs, and everything wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from farstep.cli.config_file import check_values, nested, preset_or_settings, read_config
from farstep.cli.fit import Fit
from farstep.cli.offline import Offline
from farstep.errors import FarstepError
from farstep.storage.fingerprint import plain
from farstep.storage.run_directory import RunDirectory
from farstep.training.config import FitConfig

OPTIONS = (
    *("fit", "agent", "env", "env_kwargs"),
    *("seed", "learn_reward", "system", "evaluation_horizon"),
)


def read(path: Path, text: str) -> dict[str, Any]:
    path.write_text(text)
    return read_config(path, OPTIONS)


def test_yaml_and_json_give_the_same_options(tmp_path: Path):
    expected = {"learning_rate": 1e-3, "weights": "decay:0.75", "bounds": None, "seed": 3}
    for text in (
        "learning-rate: 1e-3\nweights: decay:0.75\nbounds: null\nseed: 3\n",
        '{"learning_rate": 0.001, "weights": "decay:0.75", "bounds": null, "seed": 3}',
    ):
        assert read(tmp_path / "run.yaml", text) == expected


@pytest.mark.parametrize(
    "text", ["[1, 2]", "horizon", "", "horizon: [1", "1: 2", "\0", "a: !!python/object:x {}"]
)
def test_a_file_of_anything_else_is_an_error_that_names_it(text: str, tmp_path: Path):
    with pytest.raises(FarstepError, match=r"run\.yaml") as error:
        read(tmp_path / "run.yaml", text)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_an_error_with_the_nearest_name(tmp_path: Path):
    (tmp_path / "run.yaml").write_text("horizon: 4")
    with pytest.raises(FarstepError, match=r"rum\.yaml.*run\.yaml"):
        read_config(tmp_path / "rum.yaml", OPTIONS)
    with pytest.raises(FarstepError, match="cannot be read"):
        read_config(tmp_path, OPTIONS)


FIT = FitConfig(horizon=4, seed=5)
WITHOUT_SEED = {name: value for name, value in plain(FIT).items() if name != "seed"}


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        (
            "fit",
            {**plain(FIT), "learn_reward": True, "start": "0a4c"},
            {"fit": plain(FIT), "learn_reward": True},
        ),
        (
            "offline",
            {"system": "cart", "env_kwargs": {"a": 1}, "seed": 5, "fit": plain(FIT), "env": {}},
            {"system": "cart", "env_kwargs": {"a": 1}, "seed": 5, "fit": WITHOUT_SEED, "env": {}},
        ),
        (
            "agent",
            {"agent": {"steps": 3}, "seed": 1, "system": {"name": "cart"}, "model": "own:model"},
            {"agent": {"steps": 3}, "seed": 1},
        ),
        ("tune", {"fit": {"width": 8}, "evaluation_horizon": 9},
         {"fit": {"width": 8}, "evaluation_horizon": 9}),
        ("collect", {"policy": "own:act", "episodes": 3, "seed": 0}, {"seed": 0}),
    ],
)  # fmt: skip
def test_the_settings_of_a_run_are_options(kind: str, config: Any, expected: Any, tmp_path: Path):
    with RunDirectory(tmp_path, kind, config).open() as run:
        run.save_config()
    assert json.loads((tmp_path / "config.json").read_text())["kind"] == kind
    assert read_config(tmp_path / "config.json", OPTIONS) == expected


def test_settings_of_the_main_configuration_need_no_prefix():
    settings = {"horizon": 4, "out": "x", "fit": "paper"}
    assert nested(Fit, settings, "fit") == {"out": "x", "fit": {"preset": "paper", "horizon": 4}}
    with pytest.raises(FarstepError, match=r"'horizon'"):
        nested(Offline, {"horizon": 4}, None)
    with pytest.raises(FarstepError, match=r"'horizn'.*'horizon'"):
        nested(Fit, {"horizn": 4}, "fit")
    assert preset_or_settings("fit", "paper") == {"preset": "paper"}
    with pytest.raises(FarstepError, match="agent"):
        preset_or_settings("agent", 5)


def test_values_have_the_types_of_their_options():
    assert check_values(Offline, {"out": "there", "seeds": 2, "system": None}) == {
        "out": Path("there"),
        "seeds": 2,
        "system": None,
    }
    wrong = {"seeds": 1.5, "out": 3, "force": "yes", "system": 4, "data": None}
    for name, value in wrong.items():
        with pytest.raises(FarstepError, match=name):
            check_values(Offline, {name: value})
