"""Parsing: presets, options, configuration files and defaults become one command."""

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest

from farstep.agents.config import PRESETS as AGENT_PRESETS
from farstep.agents.config import AgentConfig, AgentPreset
from farstep.cli import COMMANDS
from farstep.cli.collect import Collect
from farstep.cli.command import Command, CommandGroup
from farstep.cli.data import DataConvert
from farstep.cli.fit import Fit
from farstep.cli.offline import Offline
from farstep.cli.options import AgentOptions, EnvOptions, FitOptions, options_of, settings_of
from farstep.cli.parse import parse, preliminary
from farstep.cli.train_agent import TrainAgent
from farstep.errors import FarstepError
from farstep.model_env.config import PRESETS as ENV_PRESETS
from farstep.model_env.config import EnvPreset, ModelEnvConfig
from farstep.settings import chosen
from farstep.training.config import PRESETS as FIT_PRESETS
from farstep.training.config import FitConfig, FitPreset

ALL = [
    one
    for kind in COMMANDS.values()
    for one in (kind.commands.values() if isinstance(kind, CommandGroup) else [kind])
]
KINDS = [
    (FitOptions, FitConfig, FIT_PRESETS, FitPreset),
    (AgentOptions, AgentConfig, AGENT_PRESETS, AgentPreset),
    (EnvOptions, ModelEnvConfig, ENV_PRESETS, EnvPreset),
]


def parsed(words: str) -> Any:
    arguments = shlex.split(words)
    return parse(COMMANDS, "", preliminary(arguments), arguments)


@pytest.mark.parametrize("kind", ALL)
def test_the_examples_in_a_commands_help_are_of_that_command(kind: type[Command]):
    examples = re.findall(r"^ *Example: farstep (.*)", kind.__doc__ or "", re.MULTILINE)
    assert examples
    for example in examples:
        assert isinstance(parsed(example), kind)


@pytest.mark.parametrize(("options", "config", "presets", "names"), KINDS)
def test_options_are_the_librarys_settings(options: Any, config: type, presets: Any, names: Any):
    assert get_args(names) == tuple(presets)
    for name, preset in presets.items():
        given = options_of(options, name, {})
        assert isinstance(given, config)
        assert settings_of(given) == {"preset": name}
        assert chosen(settings_of(given), presets, "default") == preset


def test_options_override_their_preset():
    fit = parsed("fit log.npz --horizon 4 --preset paper --learning-rate 1e-2").fit
    assert (fit.preset, fit.horizon, fit.learning_rate) == ("paper", 4, 1e-2)
    assert (fit.width, fit.activation, fit.model_steps) == (256, "tanh", None)
    expected = {"preset": "paper", "horizon": 4, "learning_rate": 1e-2}
    assert settings_of(fit) == expected
    # As the default of another preset, but not of this one.
    assert settings_of(parsed("fit x --preset paper --width 128").fit)["width"] == 128


def test_nested_options_go_to_their_configurations():
    found = parsed(
        "offline log.npz --fit.horizon 4 --agent.preset fast --agent.steps 60000 "
        "--agent.net-arch 32 16 --env.uncertainty-penalty 5 --fit.angles 1 2 --fit.no-residual"
    )
    assert isinstance(found, Offline) and found.data == "log.npz"
    assert settings_of(found.fit) == {
        "preset": "ensemble", "horizon": 4, "angles": ((1, 2),), "residual": False
    }  # fmt: skip
    assert settings_of(found.agent) == {"preset": "fast", "steps": 60_000, "net_arch": (32, 16)}
    assert settings_of(found.env) == {"preset": "offline", "uncertainty_penalty": 5.0}


def test_the_default_preset_depends_on_what_is_trained(tmp_path: Path):
    assert parsed("train-agent log.npz --model m").agent.preset == "default"
    online = parsed("train-agent --system cartpole-swingup")
    assert online.agent.preset == "online"
    assert online.agent.num_envs == AGENT_PRESETS["online"].num_envs
    (tmp_path / "run.yaml").write_text("system: cartpole-swingup\n")
    same = parsed(f"train-agent --config {tmp_path / 'run.yaml'}")
    assert (same.system, same.agent) == (online.system, online.agent)
    assert (
        parsed("train-agent log.npz --model m --system cartpole-swingup").agent.preset == "default"
    )
    for words in ("--fit.preset default", "--fit.ensemble-size 1"):
        assert parsed(f"offline log.npz {words}").env.preset == "branched"
    assert parsed("offline x --fit.ensemble-size 1 --env.preset offline").env.preset == "offline"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("horizon: 4\nlearning-rate: 1e-3", "", {"horizon": 4, "learning_rate": 1e-3}),
        ("{horizon: 4, width: 8}", "--horizon 2", {"horizon": 2, "width": 8}),
        ("preset: paper\nwidth: 8", "", {"preset": "paper", "width": 8}),
        ("preset: paper", "--preset fast", {"preset": "fast"}),
        ("fit: paper", "--depth 5", {"preset": "paper", "depth": 5}),
        ("fit: {width: 8}\nhorizon: 3", "", {"width": 8, "horizon": 3}),
        ("angles: [[1, 2]]\nbounds: null", "", {"angles": ((1, 2),)}),
        ('{"epochs": 3, "model_steps": null}', "", {"epochs": 3, "model_steps": None}),
    ],
)
def test_a_file_has_options_that_the_command_line_overrides(
    text: str, words: str, expected: dict[str, Any], tmp_path: Path
):
    (tmp_path / "run.yaml").write_text(text)
    found = parsed(f"fit log.npz --config {tmp_path / 'run.yaml'} {words}")
    assert settings_of(found.fit) == {"preset": "default", **expected}


def test_a_file_has_every_option_of_a_command(tmp_path: Path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "data: log.npz\nout: other\nsplit_seed: 3\nlearn-reward: true\nforce: true\nhorizon: 2\n"
    )
    found = parsed(f"fit --config {path}")
    assert isinstance(found, Fit)
    assert (found.data, found.out, found.split_seed) == ("log.npz", Path("other"), 3)
    assert found.learn_reward and found.force and found.fit.horizon == 2
    path.write_text("fit: paper\nagent: {preset: fast, steps: 10}\nseeds: 5\n")
    found = parsed(f"offline log.npz --config {path} --seeds 1 --agent.gamma 0.9")
    assert (found.fit.preset, found.seeds) == ("paper", 1)
    assert settings_of(found.agent) == {"preset": "fast", "steps": 10, "gamma": 0.9}
    path.write_text("observations: [x]\ntime: t\ngap: 3.5\nunknown-units: [m]\n")
    with pytest.raises(FarstepError, match="unknown_units"):
        parsed(f"data convert log.csv log.npz --config {path}")
    path.write_text("observations: [x]\nactions: [u]\ntime: t\ngap: 3.5\nobservation_units: [m]\n")
    found = parsed(f"data convert log.csv log.npz --config {path} --time when")
    assert isinstance(found, DataConvert)
    assert (found.columns.observations, found.columns.time) == (("x",), "when")
    assert (found.columns.gap, found.observation_units) == (3.5, ("m",))


def test_named_values_of_a_file_and_of_the_command_line_are_joined(tmp_path: Path):
    path = tmp_path / "run.yaml"
    path.write_text("env-kwargs: {noise: 0.1, size: 2}\nepisodes: 3\n")
    found = parsed(f"collect Own-v0 --config {path} --env-kwargs size 4 label big")
    assert isinstance(found, Collect) and found.episodes == 3
    assert found.env_kwargs == {"noise": 0.1, "size": 4, "label": "big"}
    assert parsed("collect Own-v0").env_kwargs == {}


def test_a_text_that_is_no_option_is_not_read_as_one():
    """Options that change defaults are read first, without knowing the others."""
    found = parsed("train-agent log.npz --seed 3 --model m --algorithm sb3:TD3")
    assert isinstance(found, TrainAgent)
    assert (found.data, found.model, found.agent.algorithm) == ("log.npz", "m", "sb3:TD3")
    found = parsed("evaluate log.npz --model a b --system s --horizon 5")
    assert (found.model, found.system) == (("a", "b"), "s")


@pytest.mark.parametrize(
    "words",
    ["", "ftt", "data", "data inf", "fit", "fit x --depht 3", "fit x --depth many",
     "fit x --preset pape", "fit x --target other", "collect x --out", "runs show"],
)  # fmt: skip
def test_wrong_words_end_with_exit_code_2(words: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        parsed(words)
    assert stop.value.code == 2
    assert "help" in capsys.readouterr().err
