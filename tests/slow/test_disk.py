"""Full and read-only disks under a fit or a loop, which continue when there is room."""

import subprocess
import sys
from pathlib import Path

from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.models.model import load_model
from farstep.storage import tensors
from farstep.systems.recording import EpisodeFiles
from farstep.systems.registry import get_system
from farstep.training.fit import fit
from tests import cart
from tests.slow.small_disk import needs_unshare, on_a_disk_of

FARSTEP = f"{sys.executable} -m farstep"
SETTINGS = {"epochs": 2, "width": 64, "horizon": 1, "weights": "uniform"}
OPTIONS = " ".join(f"--{name} {value}" for name, value in SETTINGS.items())
FIT = f"{FARSTEP} fit data.npz --out disk/model {OPTIONS}"
LOOP = " ".join(
    [
        f"{FARSTEP} iterate Pendulum-v1 --episodes 1 --seeds 1 --workers 1 --fit.horizon 1",
        "--fit.weights uniform --fit.epochs 1 --fit.width 16 --fit.depth 1 --agent.steps 200",
        "--agent.net-arch 8 --agent.eval-every 100 --out",
    ]
)
MORE = "mount -o remount,size=20m disk"
READ_ONLY, WRITABLE = "mount -o remount,ro disk", "mount -o remount,rw disk"


def check_error(done: "subprocess.CompletedProcess[str]", message: str) -> None:
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@needs_unshare
def test_a_fit_on_a_full_disk_continues_when_there_is_room(tmp_path: Path):
    """Room for the curve and for one checkpoint, but not for the second beside it."""
    write_dataset(cart.data(5, 60), tmp_path / "data.npz")
    script = f"{FIT}; echo code $?; ls -A disk/model; {MORE} && {FIT} && cp -r disk/model kept"
    done = on_a_disk_of("400k", script, tmp_path)
    assert done.returncode == 0, done.stderr
    check_error(done, "the disk is full")
    assert "code 2" in done.stdout
    assert "member-0.checkpoint.safetensors" in done.stdout
    assert ".part" not in done.stdout
    train, validation, _ = read_dataset(tmp_path / "data.npz").split(0)
    models = [fit(train, validation, **SETTINGS), load_model(tmp_path / "kept")]
    one, other = (tensors.digest(tensors.to_arrays(model.dynamics)) for model in models)
    assert one == other


@needs_unshare
def test_a_loop_on_a_full_disk_continues_when_there_is_room(tmp_path: Path):
    """Room for the first real episode, not for all that follows."""
    script = f"{LOOP} disk/loop; echo code $?; {MORE} && {LOOP} disk/loop && cp -r disk/loop ."
    done = on_a_disk_of("60k", f"{script} && {LOOP} whole", tmp_path)
    assert done.returncode == 0, done.stderr
    check_error(done, "the disk is full")
    assert "code 2" in done.stdout
    signals = get_system("Pendulum-v1").signals
    kept, whole = (
        EpisodeFiles(tmp_path / name / "seed-0" / "episodes", signals).episodes()
        for name in ("loop", "whole")
    )
    assert len(kept) == 2
    assert kept.equals(whole)


@needs_unshare
def test_a_fit_on_a_read_only_disk_fails_before_any_work_but_is_read_there(tmp_path: Path):
    write_dataset(cart.data(5, 60), tmp_path / "data.npz")
    script = f"({READ_ONLY} && {FIT}); echo code $?; {WRITABLE} && {FIT} && {READ_ONLY}"
    code = (
        "from farstep import fit, read_dataset; data = read_dataset('data.npz').split(0); "
        f"fit(data.train, data.validation, out='disk/model', **{SETTINGS!r})"
    )
    again = f'{sys.executable} -c "{code}"'
    done = on_a_disk_of("20m", f"{script} && {again}", tmp_path)
    assert done.returncode == 0, done.stderr
    check_error(done, "read-only")
    assert "code 2" in done.stdout
