"""`farstep doctor`: what it finds where all is well, and in every case where something is not."""

import importlib.metadata
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from farstep import doctor as module
from farstep.doctor import Finding, doctor
from farstep.errors import FarstepError

WHAT = ["Python", "packages", "accelerators", "threads", "writing", "pictures", "real systems",
        "shipped datasets", "a small fit", "extra sb3", "extra ray", "extra tune"]  # fmt: skip
LIGHT = ("_pictures", "_systems", "_datasets", "_fit", "_accelerators")


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes seconds; each has a test of its own."""
    for name in LIGHT:
        monkeypatch.setattr(module, name, lambda name=name: Finding(name, "ok", "left out"))


def test_everything_is_looked_at_and_well(tmp_path: Path):
    found = doctor(tmp_path)
    assert [one.what for one in found] == WHAT
    assert [one for one in found if one.state == "bad"] == []
    assert all(one.advice for one in found if one.state == "note")
    by_name = {one.what: one.found for one in found}
    assert f"jax {importlib.metadata.version('jax')}" in by_name["packages"]
    assert str(tmp_path) in by_name["writing"]
    assert "1000 steps" in by_name["real systems"]
    assert "cartpole-swingup/random (50 episodes)" in by_name["shipped datasets"]
    assert "rolled out 10 steps" in by_name["a small fit"]


def test_an_old_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4, "final", 0))
    found = module._python()
    assert (found.state, found.found) == ("bad", "3.10.4")
    assert "3.11" in found.advice


def test_a_missing_and_a_wrong_package(monkeypatch: pytest.MonkeyPatch):
    known = importlib.metadata.version

    def version(name: str) -> str:
        if name == "optax":
            raise importlib.metadata.PackageNotFoundError(name)
        return "4.0.0" if name == "mujoco" else known(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = module._packages()
    assert found.state == "bad"
    assert "optax is missing" in found.found
    assert "mujoco is 4.0.0, not ==3.17.0" in found.found
    assert found.advice == "pip install mujoco==3.17.0 'optax>=0.2.5'"


def test_farstep_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, light: None):
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    found = {one.what: one for one in doctor()}["packages"]
    assert found.state == "bad"
    assert "PackageNotFoundError" in found.found
    assert "install Farstep again" in found.advice


def test_an_accelerator_is_told(monkeypatch: pytest.MonkeyPatch):
    import jax

    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(device_kind="Some GPU")])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    found = module._accelerators()
    assert (found.state, found.found) == ("note", "Some GPU")
    assert "JAX_PLATFORMS=cpu" in found.advice


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only where cores can be given")
def test_fewer_cores_than_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = module._threads()
    assert found.state == "note"
    assert found.found.startswith("2 of 8 cores, OMP_NUM_THREADS=3")
    assert "may not use all cores" in found.advice
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert module._threads().state == "ok"


def test_a_directory_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, light: None
):
    """The permission is refused by hand: whoever runs the tests as root may write anywhere."""
    real = tempfile.TemporaryFile

    def refuse(*args: Any, dir: Path, **kwargs: Any) -> Any:
        if Path(dir) == tmp_path:
            raise PermissionError(13, "Permission denied")
        return real(*args, dir=dir, **kwargs)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = {one.what: one for one in doctor(tmp_path)}["writing"]
    assert found.state == "bad"
    assert str(tmp_path) in found.found
    assert "where you may write" in found.advice


def test_whatever_fails_is_one_line(monkeypatch: pytest.MonkeyPatch, light: None):
    def broken() -> Finding:
        raise OSError("libGL.so.1: cannot open shared object file\nand much more")

    monkeypatch.setattr(module, "_pictures", broken)
    found = {one.what: one for one in doctor()}["pictures"]
    assert found.state == "bad"
    assert found.found == "OSError: libGL.so.1: cannot open shared object file"
    assert found.advice


@pytest.mark.parametrize(
    ("extra", "asked"),
    [("sb3", "'stable-baselines3>=2.7' torch==2.13.0"), ("ray", "'ray[client]>=2.50'"),
     ("tune", "'optuna>=4.5'")],
)  # fmt: skip
def test_a_missing_extra_is_a_note(monkeypatch: pytest.MonkeyPatch, extra: str, asked: str):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = module._extra(extra)
    assert (found.state, found.found) == ("note", "not installed")
    assert found.advice.endswith(f"pip install {asked}")


def test_the_command_says_what_to_do_and_how_it_ended(
    farstep: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, light: None
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    result = farstep("doctor", "--out", tmp_path)
    assert result.code == 0, "a note is no failure"
    lines = result.out.splitlines()
    assert len(lines) == len(WHAT)
    assert lines[0].startswith("ok    Python: 3.")
    assert lines[-1].startswith("note  extra tune: not installed → for searches")

    monkeypatch.setattr(sys, "version_info", (3, 9, 0, "final", 0))
    result = farstep("doctor", "--out", tmp_path)
    assert result.code == 1
    assert result.out.splitlines()[0] == "BAD   Python: 3.9.0 → use Python 3.11 or newer."


def test_what_farstep_itself_says_is_no_reason_to_install_again():
    def look() -> Finding:
        raise FarstepError("JAX is set to float64; switch it off.")

    found = module._safely("a small fit", look)
    assert found.found == "JAX is set to float64; switch it off."
    assert "install" not in found.advice
