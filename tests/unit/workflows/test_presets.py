"""The configurations that workflows choose, and those that they refuse."""

import importlib
from pathlib import Path

import pytest

from farstep.agents.config import PRESETS as AGENT_PRESETS
from farstep.errors import FarstepError
from farstep.model_env.config import PRESETS as ENV_PRESETS
from farstep.model_env.config import ModelEnvConfig
from farstep.training.config import PRESETS as FIT_PRESETS
from farstep.training.config import FitConfig
from farstep.training.weights import decay
from farstep.workflows.presets import (
    chosen_agent,
    chosen_env,
    chosen_fit,
    chosen_fit_for_agents,
    describe_agent,
    describe_fit,
)


def test_the_default_environment_depends_on_the_size_of_the_ensemble():
    assert chosen_env(None, 3, "offline") == ENV_PRESETS["offline"]
    assert chosen_env(None, 3, "ensemble") == ENV_PRESETS["ensemble"]
    assert chosen_env(None, 1, "offline") == ENV_PRESETS["branched"]
    assert chosen_env("default", 1, "offline") == ENV_PRESETS["default"]
    assert chosen_env({"ensemble_mode": "mean"}, 3, "offline").ensemble_mode == "mean"
    assert ENV_PRESETS["offline"].uncertainty_penalty > 0
    assert ENV_PRESETS["ensemble"].uncertainty_penalty == 0


def test_a_single_model_keeps_the_settings_that_were_given():
    found = chosen_env({"out_of_bounds": "terminate"}, 1, "offline")
    assert (found.out_of_bounds, found.uncertainty_penalty) == ("terminate", 0)
    whole = ModelEnvConfig(bounds=0.1)
    assert chosen_env(whole, 1, "offline") == whole
    for settings in ({"uncertainty_penalty": 1.0}, {"ensemble_mode": "step"}):
        with pytest.raises(FarstepError, match="ensemble_size"):
            chosen_env(settings, 1, "offline")


def test_without_bounds_no_episode_ends_there():
    assert chosen_env({"bounds": None}, 3, "offline").out_of_bounds == "clip"
    with pytest.raises(FarstepError, match="bounds"):
        chosen_env({"bounds": None, "out_of_bounds": "terminate"}, 3, "offline")


@pytest.mark.parametrize(
    ("weights", "text"),
    [(decay(0.5), "decay:0.5"), ([0.25, 0.75], "explicit:0.25,0.75"), ("uniform", "uniform")],
)
def test_weights_of_any_kind_become_a_text(weights: object, text: str):
    assert chosen_fit({"weights": weights, "horizon": 2}, "default").weights == text


def test_a_function_of_a_module_is_a_text_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_weights.py").write_text("def falling(losses):\n    return losses[::-1]\n")
    monkeypatch.syspath_prepend(tmp_path)
    falling = importlib.import_module("own_weights").falling
    assert chosen_fit({"weights": falling}, "default").weights == "own_weights:falling"


def test_weights_that_no_other_process_can_import_are_refused():
    with pytest.raises(FarstepError, match="lambda"):
        chosen_fit({"weights": lambda losses: losses}, "default")
    with pytest.raises(FarstepError, match="'nonsense'"):
        chosen_fit({"weights": "nonsense"}, "default")


def test_presets_are_chosen_by_name_and_changed_by_settings():
    assert chosen_fit("paper", "default") == FIT_PRESETS["paper"]
    changed = chosen_fit({"preset": "paper", "horizon": 3}, "default")
    assert (changed.horizon, changed.width) == (3, FIT_PRESETS["paper"].width)
    assert chosen_agent("fast", "long") == AGENT_PRESETS["fast"]
    assert chosen_agent({"steps": 70}, "long").gamma == AGENT_PRESETS["long"].gamma
    for choose in (chosen_fit, chosen_agent):
        with pytest.raises(FarstepError, match="'papr'"):
            choose("papr", "default")
    with pytest.raises(FarstepError, match="'horizon'"):
        chosen_fit({"hroizon": 3}, "default")


def test_agents_need_one_step_models_and_seeds_of_the_workflow():
    with pytest.raises(FarstepError, match="fixed_horizon"):
        chosen_fit_for_agents(FitConfig(fixed_horizon=2), "default")
    with pytest.raises(FarstepError, match="seed=3"):
        chosen_fit_for_agents({"seed": 3}, "default")


def test_descriptions_name_what_matters():
    assert describe_fit(FitConfig(horizon=4, weights="uniform", epochs=7)).startswith("h = 4")
    assert "3 members" in describe_fit(FIT_PRESETS["ensemble"])
    assert "600000 steps in 10 environment(s)" in describe_agent(AGENT_PRESETS["long"])
