"""`farstep doctor` where all is well, and in every case where something is not."""

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

from farstep.cli import doctor as module
from farstep.cli.doctor import Finding, check_installation
from farstep.errors import FarstepError

LIGHT = ["Python", "packages", "threads", "writing", "extra sb3", "extra ray", "extra tune"]
HEAVY = {"accelerators": "_accelerators", "pictures": "_pictures", "real systems": "_systems",
         "shipped datasets": "_datasets", "a small fit": "_fit"}  # fmt: skip


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the checks that take seconds."""
    for check, function in HEAVY.items():
        monkeypatch.setattr(module, function, lambda check=check: Finding(check, "ok", "left out"))


def _found(check: str, out: Path = Path()) -> Finding:
    return next(one for one in check_installation(out) if one.check == check)


def test_everything_is_checked_and_well(tmp_path: Path):
    findings = check_installation(tmp_path)
    found = {one.check: one.found for one in findings}
    assert found.keys() == {*LIGHT, *HEAVY}
    assert [one for one in findings if one.status == "problem"] == []
    assert all(one.advice for one in findings if one.status == "note")
    assert f"jax {importlib.metadata.version('jax')}" in found["packages"]
    assert str(tmp_path) in found["writing"]
    assert "1000 steps" in found["real systems"]
    assert "cartpole-swingup/random (50 episodes)" in found["shipped datasets"]
    assert "10 steps" in found["a small fit"]


def test_an_old_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4, "final", 0))
    found = module._python()
    assert (found.status, found.found) == ("problem", "3.10.4")
    assert "3.11" in found.advice


def test_a_missing_and_a_wrong_package(monkeypatch: pytest.MonkeyPatch):
    known = importlib.metadata.version

    def version(name: str) -> str:
        if name == "optax":
            raise importlib.metadata.PackageNotFoundError(name)
        return "4.0.0" if name == "mujoco" else known(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = module._packages()
    assert found.status == "problem"
    assert "optax is missing" in found.found
    assert "mujoco is 4.0.0, not ==3.17.0" in found.found
    assert found.advice == "pip install mujoco==3.17.0 'optax>=0.2.5'"


@pytest.mark.usefixtures("light")
def test_farstep_that_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    monkeypatch.setattr(module, "_extra", lambda name: Finding(f"extra {name}", "ok", "left out"))
    found = _found("packages")
    assert found.status == "problem" and found.advice
    assert "PackageNotFoundError" in found.found


def test_an_accelerator_is_a_note(monkeypatch: pytest.MonkeyPatch):
    import jax

    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(device_kind="Some GPU")])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    found = module._accelerators()
    assert (found.status, found.found) == ("note", "Some GPU")
    assert "JAX_PLATFORMS=cpu" in found.advice


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only where cores can be given")
def test_fewer_cores_than_the_machine_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = module._threads()
    assert found.status == "note" and found.advice
    assert found.found.startswith("2 of 8 cores, OMP_NUM_THREADS=3")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert module._threads().status == "ok"


@pytest.mark.usefixtures("light")
def test_a_directory_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The permission is refused by hand: root may write anywhere."""
    real = tempfile.TemporaryFile

    def refuse(*args: Any, dir: Path, **kwargs: Any) -> Any:
        if Path(dir) == tmp_path:
            raise PermissionError(13, "Permission denied")
        return real(*args, dir=dir, **kwargs)

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    found = _found("writing", tmp_path)
    assert found.status == "problem" and "--out" in found.advice
    assert str(tmp_path) in found.found


@pytest.mark.usefixtures("light")
def test_an_exception_is_one_line(monkeypatch: pytest.MonkeyPatch):
    def broken() -> Finding:
        raise OSError("libGL.so.1: cannot open shared object file\nand much more")

    def refused() -> Finding:
        raise FarstepError("JAX is set to float64; switch it off.")

    monkeypatch.setattr(module, "_pictures", broken)
    monkeypatch.setattr(module, "_fit", refused)
    found = _found("pictures")
    assert found.status == "problem" and "install" in found.advice
    assert found.found == "OSError: libGL.so.1: cannot open shared object file"
    found = _found("a small fit")
    assert found.found == "JAX is set to float64; switch it off."
    assert "install" not in found.advice


@pytest.mark.parametrize(
    ("extra", "packages"),
    [("sb3", "'stable-baselines3>=2.7' torch==2.13.0"), ("ray", "'ray[client]>=2.50'"),
     ("tune", "'optuna>=4.5'")],
)  # fmt: skip
def test_a_missing_extra_is_a_note(monkeypatch: pytest.MonkeyPatch, extra: str, packages: str):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = module._extra(extra)
    assert (found.status, found.found) == ("note", "not installed")
    assert found.advice.endswith(f"pip install {packages}")


@pytest.mark.usefixtures("light")
def test_the_exit_code_is_1_only_where_something_will_fail(
    farstep: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    result = farstep("doctor", "--out", tmp_path)
    assert result.code == 0, "a note is no failure"
    lines = result.out.splitlines()
    assert len(lines) == len(LIGHT) + len(HEAVY)
    assert lines[0].startswith("ok    Python: 3.")
    assert lines[-1].startswith("note  extra tune: not installed → ")
    monkeypatch.setattr(sys, "version_info", (3, 9, 0, "final", 0))
    result = farstep("doctor", "--out", tmp_path)
    assert result.code == 1
    assert result.out.startswith("BAD   Python: 3.9.0 → ")
