"""The commands, from the outside."""

import dataclasses
import re
import shlex
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import farstep as package
from farstep.agents.config import AgentConfig
from farstep.cli import COMMANDS
from farstep.cli.parsing import in_one_line, parse
from farstep.datasets.reading import read, write
from farstep.episodes import Episodes
from farstep.fitting.config import FitConfig

EXAMPLES = Path(__file__).parents[1] / "examples"
HEAVY = ["dm_control", "equinox", "h5py", "jax", "matplotlib", "minari", "mujoco", "optax",
         "optuna", "plotly", "pyarrow", "ray", "scipy", "stable_baselines3", "torch"]  # fmt: skip


def test_collect_writes_what_it_says(farstep: Callable, tmp_path: Path):
    out = tmp_path / "random.npz"
    arguments = ("--episodes", 2, "--seed", 3, "--workers", 1)
    result = farstep("collect", "pendulum-swingup", *arguments, "--out", out)
    assert result.code == 0, result.err
    assert f"wrote {out}" in result.out
    assert "2 episodes, 2000 steps of pendulum-swingup" in result.out
    assert result.err == ""  # no bar when the output is not a terminal
    assert read(out).equals(package.collect("pendulum-swingup", episodes=2, seed=3))


def test_options_reach_the_environment(farstep: Callable, tmp_path: Path):
    arguments = ("--episodes", 1, "--option", "noise=0.1", "--out", tmp_path / "noisy.npz")
    assert farstep("collect", "cartpole-swingup", *arguments).code == 0
    data = read(tmp_path / "noisy.npz")
    assert data.clean_states is not None
    assert np.std(data.states - data.clean_states, axis=0)[1] == pytest.approx(0.2, rel=0.1)


def test_a_system_and_a_policy_of_ones_own(tmp_path: Path):
    """In a process of its own: from the current directory, with two workers."""
    text = (EXAMPLES / "pendulum_system.py").read_text()
    # An environment that only this module registers, and no function to tell a worker of it.
    entry = "gymnasium.envs.classic_control:PendulumEnv"
    register = f"import gymnasium\ngymnasium.register('Own-v0', '{entry}')\n"
    text = text.replace('"Pendulum-v1"', '"Own-v0"').replace("reward=reward,", "reward=None,")
    (tmp_path / "pendulum_system.py").write_text(register + text.replace("reset=reset,", ""))
    (tmp_path / "hold.py").write_text(
        "import numpy as np\n\n\ndef still(state, rng):\n    return np.zeros(1)\n"
    )
    command = [sys.executable, "-m", "farstep", "collect", "pendulum_system:pendulum"]
    options = ["--policy", "hold:still", "--episodes", "2", "--workers", "2", "--out", "data.csv"]
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    data = read(tmp_path / "data.csv")
    assert data.system == "pendulum_system:pendulum"
    assert data.lengths.tolist() == [200, 200]
    assert not data.actions.any()


def test_info_shows_counts_quantiles_and_dimensions(
    farstep: Callable, small: Episodes, tmp_path: Path
):
    path = write(small, tmp_path / "data")
    result = farstep("data", "info", path, "--horizon", 3)
    assert result.code == 0
    assert "3 episodes, 11 steps of tank" in result.out
    assert "1 terminated, 2 truncated" in result.out
    assert "6 windows of 3 steps" in result.out
    assert small.fingerprint in result.out
    level = next(line for line in result.out.splitlines() if line.strip().startswith("level"))
    column = small.states[:, 0].astype(float)
    expected = [column.min(), column.max(), column.mean(), column.var()]
    shown = [float(cell) for cell in level.split()[3:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-3)


def test_plot_draws_both_figures(farstep: Callable, small: Episodes, tmp_path: Path):
    paths = [write(small, tmp_path / "one.npz"), write(small.take([0, 2]), tmp_path / "two.npz")]
    result = farstep("data", "plot", *paths, "--out", tmp_path / "figures")
    assert result.code == 0, result.err
    for name in ("returns.png", "returns.pdf", "states.png", "states.pdf"):
        path = tmp_path / "figures" / name
        assert f"wrote {path}" in result.out
        assert path.stat().st_size > 2000
    assert (tmp_path / "figures" / "states.png").read_bytes()[:4] == b"\x89PNG"


def test_convert_goes_between_all_formats(farstep: Callable, small: Episodes, tmp_path: Path):
    before = write(small, tmp_path / "start.npz")
    for number, name in enumerate(["a.csv", "b.parquet", "c", "d.npz"]):
        after = tmp_path / name
        result = farstep("data", "convert", before, after)
        assert result.code == 0, (number, result.err)
        before = after
    assert read(before).equals(small)


def test_convert_reads_a_log_of_ones_own(farstep: Callable, tmp_path: Path):
    log = tmp_path / "log.csv"
    log.write_text("run,x,v,u,t\n1,0,1,5,0\n1,1,1,6,1\n1,2,1,7,2\n2,0,0,0,0\n2,1,1,1,1\n")
    names = ("--states", "x", "v", "--actions", "u", "--episode", "run", "--time", "t")
    bounds = ("--action-low", -6, "--action-high", 5.5)
    refused = farstep("data", "convert", log, tmp_path / "log.npz", *names, *bounds)
    assert refused.code == 2
    assert "outside their bounds" in refused.err
    clipped = farstep(
        "data", "convert", log, tmp_path / "log.npz", *names, *bounds, "--clip-actions"
    )
    assert clipped.code == 0, clipped.err
    assert "note: 1 of 3 actions were clipped" in clipped.err
    data = read(tmp_path / "log.npz")
    assert data.actions.ravel().tolist() == [5.0, 5.5, 0.0]
    assert data.signals.interval == 1.0
    assert data.signals.action_high == (5.5,)


def test_convert_takes_names_and_bounds_from_a_system(farstep: Callable, tmp_path: Path):
    log = tmp_path / "log.csv"
    log.write_text("c,s,w,u\n1,0,0,0.5\n1,0,0.1,0.5\n")
    names = ("--states", "c", "s", "w", "--actions", "u", "--system", "pendulum-swingup")
    assert farstep("data", "convert", log, tmp_path / "log.npz", *names).code == 0
    data = read(tmp_path / "log.npz")
    assert data.signals == package.system("pendulum-swingup").signals
    assert data.system == "pendulum-swingup"


def test_list_and_systems_name_what_there_is(farstep: Callable):
    listed = farstep("data", "list").out
    assert "cartpole-swingup/random" in listed
    systems = farstep("systems").out
    for name in ("cartpole-swingup-noisy", "farstep/PendulumSwingup-v0", "HalfCheetah-v5"):
        assert name in systems


def test_help_is_complete_and_version_is_the_packages(farstep: Callable):
    names = list(COMMANDS)
    assert {"collect", "fit", "offline", "tune"} < set(names)
    shown = {}
    for command in (*((name,) for name in names), (), ("data", "convert"), ("data", "plot")):
        result = farstep(*command, "--help")
        assert result.code == 0
        assert f"usage: {' '.join(('farstep', *command))}" in result.out
        shown[command] = result.out
    assert all(f"• {name} " in shown[()] for name in names)
    assert "Example:" not in shown[()] and "Example:" in shown["fit",], "an overview, not all"
    for name, config in (("fit", FitConfig), ("offline", FitConfig), ("train", AgentConfig)):
        for field in dataclasses.fields(config):
            option = rf"(?<!\S)--(no-)?{field.name.replace('_', '-')}(?=[ ,])"
            assert re.search(option, shown[name,]), f"{name}: {field.name}"
    assert farstep("--version").out.strip() == package.__version__


@pytest.mark.parametrize(
    "code",
    ["import farstep", "import farstep.cli; farstep.cli.main()"],
    ids=["import", "help"],
)
def test_help_and_import_do_not_load_the_heavy_libraries(code: str):
    """They stay under a second that way, where JAX alone takes one."""
    told = (
        "import sys, contextlib\n"
        "sys.argv = ['farstep', '--help']\n"
        f"with contextlib.suppress(SystemExit):\n    {code}\n"
        f"print('loaded:', sorted(set({HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []"
    assert ("usage: farstep" in done.stdout) == ("main" in code)


def test_one_long_run_is_cut_into_pieces(farstep, small: Episodes, tmp_path: Path):
    write(small.take([2]), tmp_path / "run.npz")
    alone = farstep("fit", tmp_path / "run.npz", "--out", tmp_path / "m")
    assert alone.code == 2 and "--pieces" in alone.err
    done = farstep("data", "convert", tmp_path / "run.npz", tmp_path / "cut.npz", "--pieces", 2)
    assert done.code == 0 and read(tmp_path / "cut.npz").lengths.tolist() == [2, 2, 2]
    bad = farstep("data", "convert", tmp_path / "run.npz", tmp_path / "x.npz", "--pieces", 0)
    assert bad.code == 2 and "at least 1, not 0" in bad.err and not (tmp_path / "x.npz").exists()


def test_convert_does_not_rename_columns_that_have_other_places(farstep: Callable, tmp_path: Path):
    log = tmp_path / "log.csv"
    log.write_text("angular_velocity,cos_angle,sin_angle,u\n0,1,0,0\n0,1,0,0\n0,1,0,\n")
    names = ("--states", "angular_velocity", "cos_angle", "sin_angle", "--actions", "u")
    found = farstep(
        "data", "convert", str(log), str(tmp_path / "out.npz"), *names,
        "--system", "pendulum-swingup",
    )  # fmt: skip
    assert found.code == 2 and "give --states in that order" in found.err
    assert not (tmp_path / "out.npz").exists()


def _leaves() -> list[type]:
    """Return the commands that do something, those below others too."""
    below = [typing.get_type_hints(kind).get("command", kind) for kind in COMMANDS.values()]
    return [one for kind in below for one in typing.get_args(kind) or (kind,)]


@pytest.mark.parametrize("kind", _leaves())
def test_the_example_in_a_commands_help_is_one_of_it(kind: type, monkeypatch: pytest.MonkeyPatch):
    (example,) = re.findall(r"^ *Example: (farstep .*)", kind.__doc__ or "", re.MULTILINE)
    monkeypatch.setattr(sys, "argv", shlex.split(example))
    found = parse(COMMANDS, "")
    assert isinstance(getattr(found, "command", found), kind)


@pytest.mark.parametrize(
    ("box", "line"),
    [
        ("", ""),
        ("something new\naltogether", "something new altogether"),
        ("╭─ Oh ─╮\n│ No. │\n│ ──── │\n│ For full helptext, run farstep fit --help │\n╰─╯", "No"),
        (
            " Oh\n ----\n  Unrecognized options: ----- \n      a│b",
            "Unrecognized options: ----- a│b",
        ),
        (
            "╭─ Oh ─╮\n│ Perhaps you meant: │\n│     --a INT │\n│         in farstep x --help │\n"
            "│     --b INT │\n│         Help. │\n│         in farstep fit --help │\n╰─╯",
            "Perhaps you meant: --b INT",
        ),
    ],
)
def test_a_box_of_the_parser_on_one_line(box: str, line: str):
    known = line and not line.startswith("something")
    assert in_one_line(box, "farstep fit") == (
        f"{line}; see farstep fit --help." if known else line
    )
