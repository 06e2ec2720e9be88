"""Whatever is wrong: one clear line, exit code 2, and what was there before is intact."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from farstep.datasets.reading import write
from farstep.episodes import Episodes
from farstep.signals import Signals
from small_disk import needs_unshare, on_a_disk_of


@pytest.fixture
def folder(tmp_path: Path, small: Episodes) -> Path:
    """A directory with good and bad files."""
    write(small, tmp_path / "good.npz")
    write(small, tmp_path / "good")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "ragged.csv").write_text("x,u\n1,2\n3\n")
    (tmp_path / "log.csv").write_text("height,valve\n1,2\n2,2\n3,2\n")
    (tmp_path / "nan.csv").write_text("height,valve\n1,2\nnan,2\n3,2\n")
    (tmp_path / "gap.csv").write_text("t,height,valve\n0,1,2\n,2,2\n2,3,2\n")
    (tmp_path / "inf.csv").write_text("height,valve\n1,2\ninf,2\n3,2\n")
    (tmp_path / "short.csv").write_text("e,height,valve\n1,1,2\n2,1,2\n2,3,2\n")
    (tmp_path / "twice.csv").write_text("height,height,valve\n1,1,2\n2,2,2\n")
    (tmp_path / "euro.csv").write_text("height;valve\n1,5;2,0\n2,5;2,0\n")
    (tmp_path / "semi.csv").write_text("height;valve\n1;2\n2;2\n")
    (tmp_path / "latin.csv").write_text("height,valve,T °C\n1,2,3\n2,2,3\n", "latin-1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    (tmp_path / "folder.npz").mkdir()
    shutil.copytree(tmp_path / "good", tmp_path / "cut")
    data = tmp_path / "cut" / "data" / "main_data.hdf5"
    data.write_bytes(data.read_bytes()[:3000])
    (tmp_path / "cut.hdf5").write_bytes(data.read_bytes())
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    return tmp_path


LOG = ("--states", "height", "--actions", "valve")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["data", "info", "missing.npz"], "missing.npz: no such file or directory"),
        (["data", "info", "god.npz"], "Did you mean 'good.npz'"),
        (["data", "info", "x" * 300], "cannot be read: File name too long"),
        (["data", "info", "notes.txt"], "in no format that Farstep reads"),
        (["data", "info", "cut"], "not readable as a Minari dataset"),
        (["data", "info", "cut.hdf5"], "not readable as HDF5"),
        (["data", "info", "other.npz"], "there is no array 'states'"),
        (["data", "info", "good.npz", "--horizon", "7"], "7 steps is longer than every episode"),
        (["data", "info", "good.npz", "--horizon", "0"], "at least 1"),
        (["data", "convert", "ragged.csv", "x.npz", "--states", "x", "--actions", "u"], "Expected"),
        (["data", "convert", "nan.csv", "x.npz", *LOG], "NaN or infinite, the first on line 3"),
        (["data", "convert", "gap.csv", "x.npz", *LOG, "--time", "t"], "empty at data row 2"),
        (["data", "convert", "inf.csv", "x.npz", *LOG], "NaN or infinite"),
        (
            ["data", "convert", "short.csv", "x.npz", *LOG, "--episode", "e"],
            "episode 1 has one row",
        ),
        (["data", "convert", "log.csv", "x.npz"], "say which columns are states"),
        (
            ["data", "convert", "log.csv", "x.npz", "--states", "hight", "--actions", "valve"],
            "no column 'hight'. Did you mean 'height'",
        ),
        (["data", "convert", "log.csv", "x.xls", *LOG], "cannot tell the format of 'x.xls'"),
        (["data", "convert", "good.npz", "x.npz", *LOG], "not a table"),
        (["data", "convert", "good.npz", "good"], "exists already"),
        (["data", "plot", "good.npz", "cartpole-swingup/random"], "different states"),
        (["data", "make", "cartpole-swingup/rnd", "--out", "x"], "cartpole-swingup/random"),
        (["collect", "cartpole", "--out", "x"], "there is no system 'cartpole'.*half-cheetah"),
        (["collect", "cartpole-swingup", "--out", "good.npz"], "exists already"),
        (["collect", "cartpole-swingup", "--out", "x", "--episodes", "0"], "episodes must be"),
        (["collect", "cartpole-swingup", "--out", "x", "--policy", "sac"], "no policy 'sac'"),
        (["collect", "cartpole-swingup", "--out", "x", "--option", "noise"], "NAME=VALUE"),
        (["collect", "cartpole-swingup", "--out", "notes.txt/x"], "cannot write notes.txt/x"),
        (["collect", "cartpole-swingup", "--out", "x" * 300], "cannot write"),
        (["collect", "cartpole-swingup", "--out", "x", "--option", "nois=1"], "argument 'nois'"),
        (["collect", "nosuch", "--out", "deep/er/x"], "there is no system"),
        (["data", "convert", "good.npz", "folder", "--force"], "holds other things .thesis.txt"),
        (["data", "convert", "good.npz", "folder.npz", "--force"], "is a directory"),
        (["data", "plot", "good.npz", "good.npz"], "named twice"),
        (["fit", "good.npz", "--out", "x", "--dropout", "2"], "dropout must be at least 0"),
        (["fit", "good.npz", "--out", "x", "--gradient", "cut"], "there is no gradient 'cut'"),
        (
            ["fit", "good.npz", "--out", "x", "--horizon", "7", "--weights", "uniform"],
            "longer than every episode",
        ),
        (["fit", "good.npz", "--out", "x", "--weights", "decy:1"], "Did you mean 'decay'"),
        (["fit", "missing.npz", "--out", "x"], "no such file or directory"),
        (["fit", "good.npz", "--out", "good.npz"], "good.npz: it is a file; name a directory"),
        (
            ["fit", "good.npz", "--out", "x", "--weights", "decay=0.7"],
            "'decay=0.7'. Such as decay:",
        ),
        (["data", "convert", "latin.csv", "x", *LOG], "is not UTF-8; save it as UTF-8"),
        (["data", "convert", "log.csv", "x", "--nosuch"], "see farstep data convert --help"),
        (["data", "inf", "log.csv"], "see farstep data --help"),
        (
            ["iterate", "Pendulum-v1", "--out", "x", "--fit-option", "preset=paper"],
            "there is no setting 'preset'",
        ),
        (["tune", "good.npz", "--out", "x", "--fit-option", "trials=3"], "no setting 'trials'"),
        (["tune", "good.npz", "--out", "x", "--fit-option", "weights=5"], "weights must be a text"),
        (
            ["data", "convert", "log.csv", "x", *LOG, "--system", "swimmer"],
            "has 1 states and 1 act",
        ),
        (["data", "convert", "twice.csv", "x", *LOG], "two columns are called 'height'"),
        (["data", "convert", "semi.csv", "x", *LOG], "separated by semicolons"),
        (["data", "convert", "euro.csv", "x", *LOG], "decimal points"),
        (
            ["data", "convert", "log.csv", "x", *LOG, "--gap", "0.5"],
            "gap must be a number above 1, not 0.5[.]$",
        ),
        (["data", "convert", "log.csv", "x", *LOG, "--gap", "3"], "need a column of times"),
        (["collect", "Pendulm-v1", "--out", "x"], "Did you mean 'Pendulum-v1'"),
        (["ftt"], "Unrecognized options: ftt; Available subcommands: collect, data, "),
        (["data"], "{info, plot, convert, make, list}; see farstep data --help"),
        (["fit", "good.npz"], "Missing from farstep fit: --out PATH; see farstep fit --help"),
        (
            ["fit", "good.npz", "--out", "x", "--depht", "3"],
            "meant: --depth INT; see farstep fit --help",
        ),
        (["fit", "good.npz", "--out", "x", "--nosuch", "y" * 99], f"--nosuch, {'y' * 99}; see"),
        (
            ["collect", "nosuch", "--out", "x", "--horizon", "5"],
            "options: --horizon 5; see farstep",
        ),
        (["collect", "cart-pole", "--out", "x"], "Did you mean 'cartpole-swingup'"),
        (["fit", "good.npz", "--out", "x", "--depth", "a"], "--depth: it must be a whole number"),
        (["fit", "good.npz", "--out", "x", "--target", "a"], "'--target'. Expected .*'delta'"),
    ],
)
def test_one_clear_line_and_exit_code_2(
    farstep: Callable,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    said: str,
):
    monkeypatch.chdir(folder)
    before = _tree(folder)
    result = farstep(*command)
    assert result.code == 2
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    assert lines[0].startswith("farstep: ")
    assert re.search(said, lines[0]), lines[0]
    assert _tree(folder) == before


def _tree(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize(
    "command", [["collct"], ["collect"], ["data", "info"], ["collect", "x", "--episodes", "many"]]
)
def test_wrong_words_on_the_command_line_are_exit_code_2(farstep: Callable, command: list[str]):
    assert farstep(*command).code == 2


def _beside_what_is_there(
    size: str, options: str, script: str, folder: Path
) -> subprocess.CompletedProcess:
    """Run a script on a small disk that holds datasets; they must be the same afterwards."""
    remount = f"mount -o remount,{options} disk" if options else "true"
    compared = "cmp disk/good.npz good.npz && diff -r disk/good good && exit $code"
    return on_a_disk_of(
        size,
        f"cp -r good good.npz disk/ && {remount} && {script}; code=$?; ls -A disk; {compared}",
        folder,
    )


@pytest.fixture
def big(folder: Path) -> Path:
    """A dataset larger than the small disk."""
    rng = np.random.default_rng(0)
    write(
        Episodes(
            states=rng.normal(size=(20_001, 2)),
            actions=rng.normal(size=(20_000, 1)),
            lengths=np.array([20_000]),
            signals=Signals(("level", "flow"), ("valve",)),
        ),
        folder / "big.npz",
    )
    return folder


@needs_unshare
@pytest.mark.parametrize("target", ["disk/good.npz", "disk/good", "disk/new.csv", "disk/n.parquet"])
def test_a_full_disk_keeps_what_was_there(big: Path, target: str):
    python = f"{sys.executable} -m farstep data convert big.npz {target} --force"
    done = _beside_what_is_there("200k", "", python, big)
    assert done.returncode == 2, done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.split() == ["good", "good.npz"]  # no temporary file is left


@needs_unshare
def test_a_read_only_disk_is_said(big: Path):
    python = f"{sys.executable} -m farstep data convert good.npz disk/new.npz"
    done = _beside_what_is_there("200k", "ro", python, big)
    assert done.returncode == 2, done.stderr
    assert "read-only" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("code", [13, 1])
def test_a_forbidden_directory_is_said(
    farstep: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(code, os.strerror(code))

    monkeypatch.setattr("tempfile.TemporaryFile", forbidden)
    result = farstep("data", "convert", folder / "good.npz", folder / "new.npz")
    assert result.code == 2
    assert "permission denied; choose a directory" in result.err


def test_ctrl_c_is_quiet(farstep: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("farstep.systems.collect.collect", interrupted)
    result = farstep("collect", "cartpole-swingup", "--out", tmp_path / "x")
    assert result.code == 130
    assert result.err == "farstep: stopped; what was finished before is kept.\n"


_WRONG = """
import gymnasium, numpy as np, farstep as fs
def said(call, *words):
    try:
        call()
    except fs.FarstepError as error:
        assert all(word in str(error) for word in words), (str(error), words)
    else:
        raise AssertionError(words)
data = fs.load("cartpole-swingup/random").take([0, 1])
model = fs.fit(data, model="linear")
env = gymnasium.make("CartPole-v1")
said(lambda: fs.fit("cartpole-swingup/random"), "str is no Episodes", "farstep.load")
said(lambda: fs.fit(np.zeros(3)), "ndarray is no Episodes")
said(lambda: fs.fit(data, preset="paper"), "preset comes by itself")
said(lambda: fs.offline(data, out="x", preset="paper"), "preset comes by itself")
said(lambda: fs.fit(data, config={"horizon": 2}), "settings come by name")
said(lambda: fs.fit(data, config=None), "settings come by name")
said(lambda: fs.fit(data, weights=5), "a list of numbers, not 5")
said(lambda: fs.imagine(model, config={"penalty": 1.0}), "settings come by name")
said(lambda: fs.offline(data, out="x", agent={"preset": 1}), "there is no preset 1")
said(lambda: data.pieces(100).split(seed=1.5), "seed must be a whole number")
said(lambda: fs.Signals(("x",), ("u",), action_low=("a",)), "action_low must be a tuple of numbers")
said(lambda: fs.score(model, "data", horizon=2), "str is no Episodes")
said(lambda: fs.describe("data"), "str is no Episodes")
said(lambda: fs.write("data", "x.npz"), "str is no Episodes")
said(lambda: fs.collect("cartpole-swingup", episodes=2.5), "episodes must be a whole number")
said(lambda: fs.offline(data, out="x", seeds=2.5), "seeds must be a whole number")
said(lambda: fs.iterate("Pendulum-v1", out="x", epochs=1.5), "epochs must be a whole number")
said(lambda: fs.imagine(model, data="cartpole-swingup/random"), "str is no Episodes")
said(lambda: fs.imagine("model"), "str is no model", "load_model")
said(lambda: fs.collect(env), "TimeLimit is no name of a system", "id")
said(lambda: fs.system(env), "TimeLimit is no name of a system")
said(lambda: fs.tune(data, out="x"), "write them to a file")
said(lambda: fs.fit(data, learn_reward=True, seed=2**31), "seed must be below")
said(lambda: model.rollout(data.states[0], data.actions[:2], "smaple"), "Did you mean 'sample'")
said(lambda: fs.Signals(state_names=("level"), action_names=("valve",)), "('level',)")
said(lambda: fs.collect("HalfCheetah-v5", lambda s, r: np.full(6, 9.0), episodes=1), "between [-1.")
bare = fs.Episodes(data.states, data.actions, data.lengths, signals=data.signals)
said(lambda: fs.fit(bare, model="linear", learn_reward=True), "no rewards to learn")
said(lambda: fs.system("CartPole-v1"), "Box(4,) and Discrete(2)")
said(lambda: fs.collect("cartpole-swingup", model), "Model is no policy", "predict")
imagined = fs.imagine(model, data=data)
said(lambda: fs.train(env), "TimeLimit is no place to train in", "real system")
said(lambda: fs.train(imagined, preset="fast"), "second argument")
said(lambda: fs.train(imagined, {"steps": 9}), "there is no preset {'steps': 9}")
said(lambda: fs.train(imagined, seed="a"), "seed must be a whole number")
said(lambda: imagined.vector_env(0), "num_envs must be a whole number of at least 1, not 0")
said(lambda: imagined.vector_env(2.5), "num_envs must be a whole number")
imagined.vector_env(np.int64(2))
one = imagined.env()
one.reset(seed=0)
said(lambda: one.step(0.5), "numbers of shape (1, 1)")
said(lambda: one.step(["left"]), "numbers of shape (1, 1)")
fs.train(imagined, steps=3, learning_starts=2, net_arch=(2,), eval_episodes=0, out="agent")
said(lambda: fs.load_model("agent/policy.safetensors"), "read it with load_policy")
policy = fs.load_policy("agent/policy.safetensors")
assert repr(policy) == "Policy for cartpole-swingup: 5-2-2, relu"
said(lambda: fs.offline(data, members=1, out="x", imagination={"penalty": 1.0}), "only an ensemble")
assert "\\n" not in repr(imagined) and len(repr(imagined)) < 500
"""


def test_what_users_pass_by_mistake(tmp_path: Path):
    """In a process of its own: here wrong types are caught before the function sees them."""
    done = subprocess.run(
        [sys.executable, "-c", _WRONG], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


WRONG = """
import numpy
from farstep import Columns, Episode, Episodes, FarstepError, Signals, decay, read

data = Episodes.from_list([Episode([[0.0]] * 3, [[0.0]] * 2)] * 5)
for wrong in (
    lambda: Signals(("x",), ("u",), interval="fast"),
    lambda: decay("a"),
    lambda: data.split(test="a"),
    lambda: Episodes.from_list([1]),
    lambda: Columns(states="speed", actions=("u",)),
    lambda: Columns(("x",), ("u",), time="t", time_unit="sec"),
    lambda: Columns(("x",), ("u",), time="t", gap="wide"),
    lambda: Columns(("x",), ("u",), time="t", gap=numpy.float32(0.5)),
    lambda: read(5),
):
    try:
        wrong()
    except FarstepError as error:
        print(error)
"""


def test_arguments_of_a_wrong_type_are_one_line():
    """In a process of its own: here types are checked before Farstep sees them."""
    done = subprocess.run([sys.executable, "-c", WRONG], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "the interval must be seconds, not 'fast'.",
        "decay needs a β above 0, not 'a'.",
        "test must be a share or a number of episodes, not 'a'.",
        "a int is no Episode(states=…, actions=…).",
        "states must be a tuple, such as ('speed',), not a text.",
        "there is no unit of time 'sec'. Did you mean 's'? Known: s, ms, us, ns, min, h.",
        "gap must be a number above 1, not 'wide'.",
        "gap must be a number above 1, not np.float32(0.5).",
        "a int is no path and no name of a shipped set.",
    ], done.stderr
