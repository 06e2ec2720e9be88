"""Whatever is wrong: one clear line, exit code 2, and what was there before is intact."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cart
from farstep.data.dataset_files import write_dataset
from farstep.data.episodes import Episodes
from farstep.storage.run_directory import RunDirectory


@pytest.fixture
def folder(tmp_path: Path, small: Episodes) -> Path:
    """A directory with good and bad files."""
    write_dataset(small, tmp_path / "good.npz")
    write_dataset(small, tmp_path / "good")
    write_dataset(cart.data(6), tmp_path / "cart.npz")
    cart.model().save(tmp_path / "model.safetensors")
    texts = {
        "notes.txt": "hello",
        "ragged.csv": "x,u\n1,2\n3\n",
        "log.csv": "height,valve\n1,2\n2,2\n3,2\n",
        "nan.csv": "height,valve\n1,2\nnan,2\n3,2\n",
        "gap.csv": "t,height,valve\n0,1,2\n,2,2\n2,3,2\n",
        "inf.csv": "height,valve\n1,2\ninf,2\n3,2\n",
        "short.csv": "e,height,valve\n1,1,2\n2,1,2\n2,3,2\n",
        "twice.csv": "height,height,valve\n1,1,2\n2,2,2\n",
        "euro.csv": "height;valve\n1,5;2,0\n2,5;2,0\n",
        "semi.csv": "height;valve\n1;2\n2;2\n",
        "list.yaml": "[1, 2]",
        "open.yaml": "horizon: [1",
        "typo.yaml": "horizn: 4",
        "preset.yaml": "fit: papr",
        "steps.yaml": "agent: {step: 3}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.csv").write_text("height,valve,T °C\n1,2,3\n2,2,3\n", "latin-1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    (tmp_path / "folder.npz").mkdir()
    shutil.copytree(tmp_path / "good", tmp_path / "cut")
    data = tmp_path / "cut" / "data" / "main_data.hdf5"
    data.write_bytes(data.read_bytes()[:3000])
    (tmp_path / "cut.hdf5").write_bytes(data.read_bytes())
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes()[:50])
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    for name in ("fit", "agent", "offline/seed-0", "iterate/seed-0", "tune"):
        with RunDirectory(tmp_path / "runs" / name, "other", {}).open() as run:
            run.finish({})
    return tmp_path


CONVERT = "data convert {}.csv x.npz --observations height --actions valve"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        # Files that are not there, or hold something else.
        ("data info missing.npz", r"missing\.npz: no such file"),
        ("data info god.npz", r"'good\.npz'"),
        (f"data info {'x' * 300}", "File name too long"),
        ("data info notes.txt", "notes.txt.*unknown format"),
        ("data info cut", "cut: "),
        ("data info cut.hdf5", r"cut\.hdf5: "),
        ("data info other.npz", "'observations'"),
        ("data info good.npz --horizon 7", "7 steps"),
        ("data info good.npz --horizon 0", "at least 1"),
        ("fit missing.npz --out x", "missing.npz"),
        ("tune missing.npz --out x", "missing.npz"),
        ("evaluate cart.npz --model missing --out x", "missing"),
        ("evaluate cart.npz --model cut.safetensors --out x", "cut.safetensors"),
        ("evaluate cart.npz --model folder --out x", "folder"),
        ("evaluate cart.npz --model nosuch:model --out x", "nosuch"),
        ("train-agent cart.npz --model missing --out x", "missing"),
        # Tables.
        ("data convert ragged.csv x.npz --observations x --actions u", "ragged.csv"),
        (CONVERT.format("nan"), "'height'.*NaN.*line 3"),
        (CONVERT.format("inf"), "'height'.*infinite"),
        (CONVERT.format("gap") + " --time t", "'t'.*data row 2"),
        (CONVERT.format("short") + " --episode e", "episode 1"),
        (CONVERT.format("twice"), "'height'"),
        (CONVERT.format("semi"), "semicolons"),
        (CONVERT.format("euro"), "decimal points"),
        (CONVERT.format("latin"), "UTF-8"),
        (CONVERT.format("log") + " --gap 0.5", r"gap.*0\.5"),
        (CONVERT.format("log") + " --gap 3", "gap.*time"),
        (CONVERT.format("log") + " --system swimmer", "'swimmer'"),
        (CONVERT.format("log") + " --action-low 3 --action-high 2", "'valve'"),
        ("data convert log.csv x.npz", "Columns|--observations"),
        ("data convert log.csv x.npz --observations hight --actions valve", "'hight'.*'height'"),
        ("data convert good.npz x.npz --observations level --actions valve", "tables"),
        # Places to write to.
        ("data convert log.csv x.xls --observations height --actions valve", r"'x\.xls'"),
        ("data convert good.npz good", "good exists already.*--force"),
        ("data convert good.npz folder --force", r"folder.*thesis\.txt"),
        ("data convert good.npz folder.npz --force", "folder.npz is a directory"),
        ("collect cartpole-swingup --out good.npz", "good.npz exists already"),
        ("collect cartpole-swingup --out notes.txt/x", "notes.txt"),
        (f"collect cartpole-swingup --out {'x' * 300}", "cannot write"),
        ("data make cartpole-swingup/random --out good", "good exists already"),
        ("fit cart.npz --out good.npz", "good.npz.*file"),
        ("evaluate cart.npz --horizon 5 --out notes.txt", "notes.txt"),
        # Another run's directory.
        ("fit cart.npz --out runs/fit", "runs/fit.*--force"),
        ("train-agent cart.npz --model model.safetensors --system cart:CART --out runs/agent",
         "runs/agent.*--force"),
        ("offline cart.npz --system cart_env:SYSTEM --seeds 1 --workers 1 --out runs/offline",
         "runs/offline.*--force"),
        ("iterate cart_env:SYSTEM --seeds 1 --workers 1 --out runs/iterate", "--force"),
        ("tune cart.npz --evaluation-horizon 5 --out runs/tune", "runs/tune.*--force"),
        # Names.
        ("data make cartpole-swingup/rnd --out x", "cartpole-swingup/random"),
        ("data plot good.npz cartpole-swingup/random --out x", "level.*x_velocity"),
        ("data plot good.npz good.npz --out x", "named twice"),
        ("collect cartpole --out x", "'cartpole'.*half-cheetah"),
        ("collect cart-pole --out x", "'cartpole-swingup'"),
        ("collect Pendulm-v1 --out x", "'Pendulum-v1'"),
        ("collect cartpole-swingup --out x --policy sac", "'sac'"),
        ("collect cartpole-swingup --out x --env-kwargs nois 1", "'nois'"),
        ("collect nosuch --out deep/er/x", "nosuch"),
        ("iterate nosuch --out x", "nosuch"),
        ("offline cart.npz --out x", "cart"),
        ("runs show nosuch --folder runs", "'nosuch'"),
        ("runs list --folder nosuch", "nosuch"),
        ("runs list --folder runs --where nosuch 1", "'nosuch'"),
        ("runs remove folder", "'folder'"),
        # Settings.
        ("collect cartpole-swingup --out x --episodes 0", "episodes"),
        ("fit cart.npz --out x --dropout 2", "dropout.*2"),
        ("fit cart.npz --out x --horizon 50 --weights uniform", "longer than every episode|50"),
        ("fit cart.npz --out x --weights decy:1", "'decy:1'.*'decay'"),
        ("fit cart.npz --out x --weights decay=0.7", "'decay=0.7'.*'decay'"),
        ("fit cart.npz --out x --model linear --ensemble-size 2", "ensemble_size"),
        ("tune cart.npz --out x --fit.width 9", "width"),
        ("tune cart.npz --out x --trials 0", "trials"),
        ("offline cart.npz --out x --system cart_env:SYSTEM --agent.gamma 2", "gamma"),
        ("offline cart.npz --out x --system cart_env:SYSTEM --fit.seed 3", "seed"),
        ("offline cart.npz --out x --system cart_env:SYSTEM --env.bounds -1", "bounds"),
        # Configuration files.
        ("fit cart.npz --out x --config missing.yaml", "missing.yaml"),
        ("fit cart.npz --out x --config list.yaml", "list.yaml"),
        ("fit cart.npz --out x --config open.yaml", "open.yaml"),
        ("fit cart.npz --out x --config typo.yaml", "'horizn'.*'horizon'"),
        ("fit cart.npz --out x --config preset.yaml", "'papr'.*'paper'"),
        ("offline cart.npz --out x --config steps.yaml", "'step'.*'steps'"),
        ("fit cart.npz --out x --config cart.npz", "cart.npz"),
    ],
)  # fmt: skip
def test_one_clear_line_and_exit_code_2(
    farstep: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, found: str
):
    monkeypatch.chdir(folder)
    before = _files(folder)
    result = farstep(*command.split())
    assert result.code == 2, result.out
    lines = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.err
    assert lines[0].startswith("farstep: ")
    assert re.search(found, lines[0]), lines[0]
    assert _files(folder) == before


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("code", [13, 1])
def test_a_forbidden_directory(
    farstep: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(code, os.strerror(code))

    monkeypatch.setattr("tempfile.TemporaryFile", forbidden)
    result = farstep("data", "convert", folder / "good.npz", folder / "new.npz")
    assert result.code == 2 and "permission denied" in result.err
