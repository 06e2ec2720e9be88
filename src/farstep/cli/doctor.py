"""`farstep doctor`: check that everything that Farstep needs is installed and works."""

import importlib.metadata
import importlib.util
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from farstep.cli.command import Command
from farstep.errors import FarstepError, one_line
from farstep.runtime.machine import EXTRAS

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_PYTHON = (3, 11)
_REINSTALL = "install Farstep again, into a new virtual environment."
_PROBE = ".farstep-doctor"
"""A file name that nobody uses; it is not written."""


@dataclass(frozen=True)
class Doctor(Command):
    """Check versions, threads, accelerators, pictures, writing, shipped data and extras.

    Every line has one check, what was found and, if something is wrong, what to do. The exit code
    is 1 if something will fail.

    Example: farstep doctor
    """

    out: Path = Path()
    """A directory for results, to check that it can be written to."""

    def run(self) -> None:
        """Print what was found."""
        marks = {"ok": "ok  ", "note": "note", "problem": "BAD "}
        findings = check_installation(self.out)
        for one in findings:
            advice = f" → {one.advice}" if one.advice else ""
            print(f"{marks[one.status]}  {one.check}: {one.found}{advice}")
        if any(one.status == "problem" for one in findings):
            sys.exit(1)


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    status: Literal["ok", "note", "problem"]
    """`note`: it works, but may not be what you want. `problem`: something will fail."""
    found: str
    advice: str = ""


def check_installation(out: Path = Path()) -> list[Finding]:
    """Check everything that Farstep depends on; a check that fails is a finding.

    Args:
        out: A directory for results.
    """
    checks: dict[str, Callable[[], Finding]] = {
        "Python": _python,
        "packages": _packages,
        "accelerators": _accelerators,
        "threads": _threads,
        "writing": lambda: _writing(out),
        "pictures": _pictures,
        "real systems": _systems,
        "shipped datasets": _datasets,
        "a small fit": _fit,
    }
    extras = {f"extra {name}": lambda name=name: _extra(name) for name in EXTRAS}
    return [_result(name, check) for name, check in (checks | extras).items()]


def _result(name: str, check: Callable[[], Finding]) -> Finding:
    """Return the finding of a check; an exception counts as a problem."""
    try:
        return check()
    except FarstepError as error:  # its message says what to do
        return Finding(name, "problem", one_line(error), "then run `farstep doctor` again.")
    except Exception as error:  # any other library's
        return Finding(name, "problem", f"{type(error).__name__}: {one_line(error)}", _REINSTALL)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _PYTHON:
        return Finding("Python", "problem", found, "use Python 3.11 or newer.")
    return Finding("Python", "ok", found)


def _packages() -> Finding:
    """Compare the installed versions with the requirements."""
    wrong, wanted = [], []
    for one in _requirements():
        try:
            version = importlib.metadata.version(one.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{one.name} is missing")
            wanted.append(one)
            continue
        if not one.specifier.contains(version, prereleases=True):
            wrong.append(f"{one.name} is {version}, not {one.specifier}")
            wanted.append(one)
    if wrong:
        return Finding("packages", "problem", "; ".join(wrong), _install_command(wanted))
    shown = ("farstep", "jax", "numpy", "gymnasium", "mujoco")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in shown)
    return Finding("packages", "ok", versions)


def _requirements(extra: str = "") -> "Iterator[Requirement]":
    """Yield the package's requirements, or those that an extra adds."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires("farstep") or []:
        one = Requirement(text)
        always = one.marker is None or one.marker.evaluate({"extra": ""})
        with_extra = one.marker is None or one.marker.evaluate({"extra": extra})
        if with_extra and always == (not extra):
            yield one


def _install_command(wanted: "list[Requirement]") -> str:
    """Return the command that installs some requirements, wherever Farstep itself came from."""

    def text(one: "Requirement") -> str:
        extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
        return f"{one.name}{extras}{one.specifier}"

    return shlex.join(["pip", "install", *map(text, wanted)])


def _accelerators() -> Finding:
    import jax

    kinds = [device.device_kind for device in jax.devices()]
    if jax.default_backend() == "cpu":
        return Finding("accelerators", "ok", "none; everything runs on the processor")
    advice = "for small networks the processor may be faster: try JAX_PLATFORMS=cpu."
    return Finding("accelerators", "note", ", ".join(kinds), advice)


def _threads() -> Finding:
    from farstep.runtime.processes import usable_cores

    usable, cores = usable_cores(), os.cpu_count() or 1
    names = ("OMP_NUM_THREADS", "PJRT_NPROC", "XLA_FLAGS", "JAX_PLATFORMS")
    variables = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    found = ", ".join([f"{usable} of {cores} cores", *variables])
    if usable < cores:
        advice = "this process may not use all cores; commands start one worker for each it may."
        return Finding("threads", "note", found, advice)
    return Finding("threads", "ok", found)


def _writing(out: Path) -> Finding:
    from farstep.storage.files import check_output

    for folder in (out, Path(tempfile.gettempdir())):
        try:
            check_output(folder / _PROBE)
        except FarstepError as error:
            advice = "set --out, or TMPDIR, to a directory that you may write to."
            return Finding("writing", "problem", str(error), advice)
    return Finding("writing", "ok", f"{out.absolute()} and {tempfile.gettempdir()}")


def _pictures() -> Finding:
    from matplotlib.figure import Figure

    from farstep.plotting.static import png

    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([0, 1])
    return Finding("pictures", "ok", f"drawn without a display ({len(png(figure))} bytes)")


def _systems() -> Finding:
    from farstep.systems.collect import collect

    data = collect("cartpole-swingup", "random", episodes=1, seed=0)
    if trouble := data.metadata["collected"].get("trouble"):
        raise RuntimeError(trouble)
    return Finding("real systems", "ok", f"an episode of cartpole-swingup, {data.lengths[0]} steps")


def _datasets() -> Finding:
    from farstep.data.dataset_files import load_dataset, shipped_records

    counts = {name: len(load_dataset(name)) for name in sorted(shipped_records())}
    found = ", ".join(f"{name} ({count} episodes)" for name, count in counts.items())
    return Finding("shipped datasets", "ok", found)


def _fit() -> Finding:
    from farstep.data.dataset_files import load_dataset
    from farstep.training.fit import fit

    data = load_dataset("cartpole-swingup/random").take(range(2))
    model = fit(data.take([0]), data.take([1]), "paper", epochs=1, width=8, batch_size=256)
    observations, _ = model.rollout(data[0].observations[0], data[0].actions[:10])
    return Finding("a small fit", "ok", f"fitted, and rolled out {len(observations)} steps")


def _extra(name: str) -> Finding:
    extra, check = EXTRAS[name], f"extra {name}"
    if importlib.util.find_spec(extra.module) is None:
        advice = f"for {extra.purpose}: {_install_command(list(_requirements(name)))}"
        return Finding(check, "note", "not installed", advice)
    package = extra.module.replace("_", "-")
    return Finding(check, "ok", f"{package} {importlib.metadata.version(package)}")
