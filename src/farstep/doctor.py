"""Is everything there that Farstep needs? What is, what is not, and what to do."""

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

from farstep.errors import FarstepError, one_line
from farstep.packages import EXTRAS

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_PYTHON = (3, 11)
_AGAIN = "install Farstep again, into a new virtual environment."


@dataclass(frozen=True)
class Finding:
    """What one look found."""

    what: str
    state: Literal["ok", "note", "bad"]
    """`note`: it works, but something else might be meant. `bad`: something will fail."""
    found: str
    advice: str = ""


def doctor(folder: Path = Path()) -> list[Finding]:
    """Look at everything that Farstep depends on.

    Args:
        folder: Where results would be written.
    """
    looks: dict[str, Callable[[], Finding]] = {
        "Python": _python,
        "packages": _packages,
        "accelerators": _accelerators,
        "threads": _threads,
        "writing": lambda: _writing(folder),
        "pictures": _pictures,
        "real systems": _systems,
        "shipped datasets": _datasets,
        "a small fit": _fit,
    }
    extras = {f"extra {name}": lambda name=name: _extra(name) for name in EXTRAS}
    return [_safely(what, look) for what, look in (looks | extras).items()]


def _safely(what: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except FarstepError as error:  # which says what to do itself
        return Finding(what, "bad", one_line(error), "do that, and look again.")
    except Exception as error:  # whatever it is, it is what has to be told
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Finding(what, "bad", text, _AGAIN)


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _PYTHON:
        return Finding("Python", "bad", found, "use Python 3.11 or newer.")
    return Finding("Python", "ok", found)


def _requirements(extra: str = "") -> "Iterator[Requirement]":
    """Yield what the package asks for: always, or with an extra only."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires("farstep") or []:
        one = Requirement(text)
        always = one.marker is None or one.marker.evaluate({"extra": ""})
        if (always and not extra) or (
            not always and one.marker is not None and one.marker.evaluate({"extra": extra})
        ):
            yield one


def _install(wanted: "list[Requirement]") -> str:
    # Not `pip install farstep[…]`: that needs to know where this Farstep came from.
    def asked(one: "Requirement") -> str:
        extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
        return f"{one.name}{extras}{one.specifier}"

    return shlex.join(["pip", "install", *map(asked, wanted)])


def _packages() -> Finding:
    """Compare with what the package asks for; pip itself has resolved the rest."""
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
        return Finding("packages", "bad", "; ".join(wrong), _install(wanted))
    shown = ("farstep", "jax", "numpy", "gymnasium", "mujoco")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in shown)
    return Finding("packages", "ok", versions)


def _accelerators() -> Finding:
    import jax

    kinds = [device.device_kind for device in jax.devices()]
    if jax.default_backend() == "cpu":
        return Finding("accelerators", "ok", "none; everything runs on the processor")
    advice = "for networks as small as these the processor may be faster: try JAX_PLATFORMS=cpu."
    return Finding("accelerators", "note", ", ".join(kinds), advice)


def _threads() -> Finding:
    from farstep.processes import usable_cores

    usable = usable_cores()
    names = ("OMP_NUM_THREADS", "PJRT_NPROC", "XLA_FLAGS", "JAX_PLATFORMS")
    set_ = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    found = ", ".join([f"{usable} of {os.cpu_count()} cores", *set_])
    if usable < (os.cpu_count() or 1):
        advice = "this process may not use all cores; sweeps start as many workers as it may."
        return Finding("threads", "note", found, advice)
    return Finding("threads", "ok", found)


def _writing(folder: Path) -> Finding:
    from farstep.errors import FarstepError
    from farstep.files import check_output

    for place in (folder, Path(tempfile.gettempdir())):
        try:
            check_output(place / ".farstep-doctor")
        except FarstepError as error:
            advice = "give --out, or TMPDIR, a directory where you may write."
            return Finding("writing", "bad", str(error), advice)
    return Finding("writing", "ok", f"{folder.absolute()} and {tempfile.gettempdir()}")


def _pictures() -> Finding:
    from matplotlib.figure import Figure

    from farstep.report.figures import png

    figure = Figure(figsize=(1, 1))
    figure.subplots().plot([0, 1])
    return Finding("pictures", "ok", f"drawn without a display ({len(png(figure))} bytes)")


def _systems() -> Finding:
    from farstep.systems.collect import collect

    data = collect("cartpole-swingup", "random", episodes=1, seed=0)
    steps, trouble = data.lengths, data.metadata["collected"].get("trouble")
    if trouble:
        raise RuntimeError(trouble)
    return Finding("real systems", "ok", f"an episode of cartpole-swingup, {steps[0]} steps")


def _datasets() -> Finding:
    from farstep.datasets.shipped import load, names

    counts = {name: len(load(name)) for name in names()}
    found = ", ".join(f"{name} ({count} episodes)" for name, count in counts.items())
    return Finding("shipped datasets", "ok", found)


def _fit() -> Finding:
    from farstep.datasets.shipped import load, names
    from farstep.fitting.fit import fit

    data = load(names()[0]).take(range(2))
    model = fit(data.take([0]), data.take([1]), "paper", epochs=1, width=8, batch=256)
    states, _ = model.rollout(data[0].states[0], data[0].actions[:10])
    return Finding("a small fit", "ok", f"fitted and rolled out {len(states)} steps")


def _extra(name: str) -> Finding:
    extra, what = EXTRAS[name], f"extra {name}"
    if importlib.util.find_spec(extra.module) is None:
        advice = f"for {extra.purpose}: {_install(list(_requirements(name)))}"
        return Finding(what, "note", "not installed", advice)
    package = extra.module.replace("_", "-")
    return Finding(what, "ok", f"{package} {importlib.metadata.version(package)}")
