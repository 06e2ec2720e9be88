"""Disks that are full or read-only under a fit or a loop."""

import sys
from pathlib import Path

from tests.pendulum import pendulum
from tests.small_disk import needs_unshare, on_a_disk_of

from farstep import tensors
from farstep.datasets.reading import read, write
from farstep.fitting.fit import fit
from farstep.loops.real_episodes import all_of
from farstep.model import load_model

_SETTINGS = {"epochs": 2, "width": 64, "horizon": 1, "weights": "uniform"}
_FIT = " ".join(
    [
        f"{sys.executable} -m farstep fit data.npz --out disk/model",
        *(f"--{name} {value}" for name, value in _SETTINGS.items()),
    ]
)


@needs_unshare
def test_a_fit_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path: Path):
    """Room for the curve and for one checkpoint, but not for the second beside it."""
    write(pendulum(5), tmp_path / "data.npz")
    more = "mount -o remount,size=20m disk"
    script = f"{_FIT}; echo code $?; ls -A disk/model; {more} && {_FIT} && cp -r disk/model kept"
    done = on_a_disk_of("300k", script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "code 2" in done.stdout
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert ".part" not in done.stdout
    train, validation, _ = read(tmp_path / "data.npz").split(0)
    models = [fit(train, validation, **_SETTINGS), load_model(tmp_path / "kept")]
    one, other = (tensors.digest(tensors.to_arrays(model.dynamics)) for model in models)
    assert one == other


_LOOP = " ".join(
    [
        f"{sys.executable} -m farstep iterate Pendulum-v1 --epochs 1 --seeds 1 --workers 1",
        "--horizon 1 --weights uniform --fit-option epochs=1 width=16 depth=1",
        "--agent-option steps=200 net_arch=[8] eval_every=100 --out",
    ]
)


@needs_unshare
def test_a_loop_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path: Path):
    """Room for the first real episode, not for all that follows."""
    more = "mount -o remount,size=20m disk"
    script = f"{_LOOP} disk/loop; echo code $?; {more} && {_LOOP} disk/loop && cp -r disk/loop ."
    done = on_a_disk_of("60k", f"{script} && {_LOOP} whole", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "code 2" in done.stdout
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    kept, whole = (all_of(tmp_path / name / "seed-0" / "episodes") for name in ("loop", "whole"))
    assert len(kept) == 2
    assert kept.equals(whole)


@needs_unshare
def test_a_fit_on_a_read_only_disk_fails_before_any_work(tmp_path: Path):
    write(pendulum(5), tmp_path / "data.npz")
    done = on_a_disk_of("1m", f"mount -o remount,ro disk && {_FIT}", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "read-only" in done.stderr
    assert "Traceback" not in done.stderr
