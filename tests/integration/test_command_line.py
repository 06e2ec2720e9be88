"""The program as a whole: help, version, start-up time, and the lists of what there is."""

import dataclasses
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import farstep as package
from farstep.agents.config import AgentConfig
from farstep.cli import COMMANDS
from farstep.cli.command import CommandGroup
from farstep.model_env.config import ModelEnvConfig
from farstep.training.config import FitConfig

ROOT = Path(__file__).parents[2]
HEAVY = ["dm_control", "equinox", "h5py", "jax", "matplotlib", "minari", "mujoco", "optax",
         "optuna", "plotly", "pyarrow", "ray", "scipy", "stable_baselines3", "torch"]  # fmt: skip


def _all_commands() -> list[tuple[str, ...]]:
    deeper = [
        (name, one)
        for name, kind in COMMANDS.items()
        if isinstance(kind, CommandGroup)
        for one in kind.commands
    ]
    return [(name,) for name in COMMANDS] + deeper


def test_help_names_every_command(farstep: Callable):
    overview = farstep("--help")
    assert overview.code == 0 and "usage: farstep" in overview.out
    assert all(f"• {name} " in overview.out for name in COMMANDS)
    assert "Example:" not in overview.out
    for words in _all_commands():
        result = farstep(*words, "--help")
        assert result.code == 0
        assert f"usage: {' '.join(('farstep', *words))}" in result.out
        group = isinstance(COMMANDS[words[0]], CommandGroup) and len(words) == 1
        assert ("Example:" in result.out) != group


@pytest.mark.parametrize(
    ("command", "config", "prefix"),
    [
        ("fit", FitConfig, ""),
        ("train-agent", AgentConfig, ""),
        ("train-agent", ModelEnvConfig, "env."),
        ("offline", FitConfig, "fit."),
        ("iterate", AgentConfig, "agent."),
        ("tune", FitConfig, "fit."),
    ],
)
def test_help_has_every_setting(farstep: Callable, command: str, config: type, prefix: str):
    shown = farstep(command, "--help").out
    for field in dataclasses.fields(config):
        option = rf"(?<!\S)--{re.escape(prefix)}(no-)?{field.name.replace('_', '-')}(?=[ ,])"
        assert re.search(option, shown), field.name


def test_every_command_that_writes_has_a_place_and_replaces_only_with_force():
    for words in _all_commands():
        kind = COMMANDS[words[0]]
        if isinstance(kind, CommandGroup):
            if len(words) == 1:
                continue
            kind = kind.commands[words[1]]
        fields = {field.name: field for field in dataclasses.fields(kind)}  # pyright: ignore[reportArgumentType]
        if words == ("data", "convert"):  # OUT is required, as of every converter
            assert "force" in fields
        elif "out" in fields:
            assert fields["out"].default is not dataclasses.MISSING, words
            assert ("force" in fields) == (words != ("doctor",)), words


def test_version_and_lists(farstep: Callable):
    assert farstep("--version").out.strip() == package.__version__
    assert "cartpole-swingup/random" in farstep("data", "list").out
    systems = farstep("systems").out
    for name in ("cartpole-swingup-noisy", "farstep/PendulumSwingup-v0", "HalfCheetah-v5"):
        assert name in systems


@pytest.mark.parametrize(
    "code",
    ["import farstep", "import farstep.cli; farstep.cli.main()"],
    ids=["import", "help"],
)
def test_help_and_import_do_not_load_the_heavy_libraries(code: str):
    """JAX alone takes a second."""
    script = (
        "import sys, contextlib\n"
        "sys.argv = ['farstep', '--help']\n"
        f"with contextlib.suppress(SystemExit):\n    {code}\n"
        f"print('loaded:', sorted(set({HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"
    assert ("usage: farstep" in done.stdout) == ("main" in code)


def _hook() -> ModuleType:
    path = ROOT / "scripts" / "cli_reference.py"
    spec = importlib.util.spec_from_file_location("cli_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_has_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch):
    for name in ("COLUMNS", "NO_COLOR", "TERM"):  # which the hook sets
        monkeypatch.setenv(name, "")
    page = _hook().on_page_markdown((ROOT / "docs" / "reference" / "command_line.md").read_text())
    for words in _all_commands():
        assert f"\n{'#' * (1 + len(words))} {' '.join(words)}\n" in page
        assert f"usage: {' '.join(('farstep', *words))}" in page
    assert _hook().on_page_markdown("another page") == "another page"


def test_ctrl_c_is_one_line(farstep: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("farstep.systems.collect.collect", interrupted)
    result = farstep("collect", "cartpole-swingup", "--out", tmp_path / "x")
    assert result.code == 130
    assert result.err.startswith("farstep: stopped") and result.err.count("\n") == 1
