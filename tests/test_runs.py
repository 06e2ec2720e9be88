"""Runs: computed once, kept whole, shared, killed without loss, listed and removed."""

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from farstep.datasets.reading import write
from farstep.datasets.shipped import load
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.files import locked
from farstep.fitting.config import fit_config
from farstep.runs import store as store_module
from farstep.runs.describe import selected
from farstep.runs.estimate import estimate
from farstep.runs.r2 import decoded, encoded
from farstep.runs.run import name_of
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.scored_oracle import ScoredOracle
from farstep.runs.store import Store
from farstep.runs.sweep import sweep
from small_disk import needs_unshare, on_a_disk_of
from square import Square

TINY = fit_config("paper", epochs=1, width=4, depth=1, batch=256)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A small dataset on disk."""
    short = [
        Episode(episode.states[:41], episode.actions[:40])
        for episode in load("cartpole-swingup/random").take(range(8))
    ]
    data = Episodes.from_list(short, load("cartpole-swingup/random").signals)
    write(data, tmp_path / "log.npz")
    return str(tmp_path / "log.npz")


def test_a_run_is_computed_once_and_its_record_says_all(tmp_path: Path):
    store, run = Store(tmp_path), Square(3)
    assert store.run(run) == store.run(run) == {"square": 9, "return": 3.0}
    assert (store.place(run) / "begun").read_text() == "."
    record = store.record(run)
    assert record is not None
    assert record["settings"] == {"number": 3, "after": []}
    assert {"farstep", "jax"} <= record["versions"].keys()
    assert record["seconds"] >= 0 and "cores" in record["machine"]
    assert name_of(run) == name_of(Square(3)) != name_of(Square(4))
    damaged = store.place(run) / "run.json"
    damaged.write_text(damaged.read_text()[:-30])
    assert store.record(run) is None
    assert store.run(run) == {"square": 9, "return": 3.0}


def test_a_name_is_the_same_on_every_machine():
    assert name_of(Square(3)) == "square-1c210417773ec544"


def test_what_is_only_recorded_is_computed_again_where_its_files_are_needed(tmp_path: Path):
    elsewhere = Store(tmp_path / "records")
    elsewhere.run(Square(2))
    store, run = Store(tmp_path / "runs", (elsewhere.folder,)), Square(3, after=(Square(2),))
    assert sweep([Square(2)], store) == {Square(2): {"square": 4, "return": 2.0}}
    assert store.record(Square(2), here=True) is None
    assert estimate([run], store).missing == {"square": 2}
    sweep([run], store)
    assert store.record(Square(2), here=True) is not None


def test_records_elsewhere_count_and_are_not_written_to(tmp_path: Path):
    run = Square(3)
    Store(tmp_path / "first").run(run)
    shutil.copytree(tmp_path / "first", tmp_path / "copied")
    store = Store(tmp_path / "second", (tmp_path / "copied",))
    before = sorted(tmp_path.glob("copied/**/*"))
    assert store.run(run)["square"] == 9
    assert not (tmp_path / "second").exists()
    assert sorted(tmp_path.glob("copied/**/*")) == before
    assert store.missing([run, Square(4), Square(4)]) == [Square(4)]


def test_a_fit_on_other_data_of_that_name_does_not_count(log: str, tmp_path: Path):
    store, run = Store(tmp_path / "runs"), ScoredFit(log, TINY, 10)
    first = store.run(run)
    assert decoded(first["r2"]).shape == (10, 5)
    record = json.loads((store.place(run) / "run.json").read_text())
    record["data"] = "other"
    (store.place(run) / "run.json").write_text(json.dumps(record))
    assert store.record(run) is None
    assert store.run(run) == first
    assert name_of(ScoredFit(log, TINY, 10)) != name_of(ScoredFit(log, TINY, 20))


def test_a_fit_that_diverges_is_a_result(log: str, tmp_path: Path):
    wild = dataclasses.replace(TINY, learning_rate=1e30, normalisation="none", activation="relu")
    values = decoded(Store(tmp_path / "runs").run(ScoredFit(log, wild, 10))["r2"])
    assert values.shape == (10, 5)
    assert (values == -np.inf).all()
    np.testing.assert_array_equal(decoded(encoded(values)), values)


def test_an_oracle_may_be_missing(log: str, tmp_path: Path):
    found = Store(tmp_path / "runs").run(ScoredOracle("cartpole-swingup/random", 2))
    np.testing.assert_allclose(decoded(found["r2"]), 1, atol=1e-6)
    assert Store(tmp_path / "runs").run(ScoredOracle(log, 2)) == {"r2": None}


def test_two_processes_that_ask_for_one_run_compute_it_once(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from square import Square;"
        "from farstep.runs.store import Store; print(Store(Path(sys.argv[1])).run(Square(7)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
        for _ in range(2)
    ]
    printed = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert printed[0] == printed[1] != ""
    assert (Store(tmp_path).place(Square(7)) / "begun").read_text() == "."


def test_what_another_process_is_at_comes_last(tmp_path: Path):
    store, runs = Store(tmp_path), [Square(1), Square(2), Square(3, after=(Square(1),))]
    with ThreadPoolExecutor() as pool:
        with locked(store.place(Square(1))):
            swept = pool.submit(sweep, runs, store)
            while store.record(Square(2)) is None:
                assert not swept.done()
                time.sleep(0.1)
            assert store.missing(runs) == [runs[0], runs[2]]
        found = swept.result(timeout=120)
    assert [found[run]["square"] for run in runs] == [1, 4, 10]


def test_runs_are_listed_shown_compared_and_removed(tmp_path: Path, farstep: Callable):
    store = Store(tmp_path)
    for number in (3, 4):
        store.run(Square(number))
    names = [name_of(Square(number)) for number in (3, 4)]
    done = farstep("runs", "list", "--folder", tmp_path, "--where", "number=4")
    assert names[1] in done.out
    assert names[0] not in done.out
    assert "return 4" in done.out
    done = farstep("runs", "show", names[0][:12], "--folder", tmp_path)
    assert "version: farstep" in done.out
    assert str(store.place(Square(3)) / "run.json") in done.out
    done = farstep("runs", "compare", *names, "--folder", tmp_path)
    row = next(line for line in done.out.splitlines() if line.strip().startswith("number"))
    assert row.split()[1:] == ["3", "4"]
    done = farstep("runs", "remove", names[0], "--folder", tmp_path)
    assert done.code == 0, done.err
    assert not store.place(Square(3)).exists()
    for command, message in (
        (("remove", "../other"), "there is no run"),
        (("show", "square-nothing"), "there is no finished run"),
        (("show", "fit"), "there is no finished run"),
        (("compare", names[1]), "name two runs"),
        (("list", "--where", "number"), "NAME=VALUE"),
    ):
        done = farstep("runs", *command, "--folder", tmp_path)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
        assert message in done.err
    done = farstep("runs", "list", "--folder", tmp_path / "nowhere")
    assert "there is no directory" in done.err


def test_settings_are_found_by_their_value_also_those_that_are_as_in_the_paper():
    fitted = {"kind": "fit", "settings": {"data": "a", "config": {"width": 8}, "horizon": 100}}
    agent = {"steps": 10, "average": 0.999, "net_arch": [8]}
    offline = {"kind": "offline", "settings": {"fit": fitted["settings"], "agent": agent}}
    loop = {"kind": "iterated", "settings": {"fit": {"width": 8}, "seed": 2}}
    both = [fitted, offline]
    for wanted, found in (
        ({"horizon": 1, "width": 8, "data": "a"}, both),
        ({"horizon": 100}, []),
        ({"fit.config.horizon": 1}, [offline]),
        ({"learning_rate": 1e-3, "kind": "fit"}, [fitted]),
        ({"num_envs": 1, "agent.steps": 10, "net_arch": [8]}, [offline]),
    ):
        assert selected(both, wanted) == found, wanted
    assert selected([loop], {"seed": 0}) == []  # that of the loop, not of its fits
    assert selected([loop], {"seed": 2}) == [loop]
    for wanted, message in (({"witdh": 8}, "width"), ({"average": None}, "agent.average")):
        with pytest.raises(FarstepError, match=message):
            selected(both, wanted)


def test_a_list_of_large_settings_is_not_cut(tmp_path: Path, farstep: Callable):
    names = {f"offline-{number:016x}": {"data": "long" * 30 + str(number)} for number in (1, 2)}
    for name, settings in names.items():
        (tmp_path / name).mkdir()
        record = {"kind": "offline", "settings": settings, "data": None, "seconds": 12.5}
        (tmp_path / name / "run.json").write_text(
            json.dumps({**record, "result": {"return": 1.5, "imagined_return": 2.5}})
        )
    done = farstep("runs", "list", "--folder", tmp_path)
    for name, settings in names.items():
        line = next(line for line in done.out.splitlines() if name in line)
        assert "return 1.5, imagined return 2.5" in line
        assert "12.5" in line
        assert settings["data"] in line


def test_only_runs_that_nobody_computes_are_removed(tmp_path: Path):
    store, inside = Store(tmp_path / "runs"), tmp_path / "runs" / "notes"
    inside.mkdir(parents=True)
    store.run(Square(3))
    for name in ("..", ".", "notes", ""):
        with pytest.raises(FarstepError, match="there is no run"):
            store.remove(name)
    with locked(store.place(Square(3))), pytest.raises(FarstepError, match="being computed"):
        store.remove(name_of(Square(3)))
    assert inside.is_dir()
    assert store.record(Square(3)) is not None


@needs_unshare
def test_a_run_that_cannot_be_removed_is_one_line(tmp_path: Path):
    name = "square-0123456789abcdef"
    made = f"mkdir disk/{name} && echo {{}} > disk/{name}/run.json && mount -o remount,ro disk"
    remove = f"{sys.executable} -m farstep runs remove {name} --folder disk"
    done = on_a_disk_of("200k", f"{made} && {remove}; code=$?; ls disk; exit $code", tmp_path)
    assert (done.returncode, done.stdout) == (2, f"{name}\n"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "read-only" in done.stderr


def test_the_revision_is_farsteps_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installed into a virtual environment inside another project's checkout, it has none."""
    identity = ["-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "theirs"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    revision = store_module.revision.__wrapped__
    inside = tmp_path / "src" / "farstep" / "runs" / "store.py"
    inside.parent.mkdir(parents=True)
    monkeypatch.setattr(store_module, "__file__", str(inside))
    assert len(revision() or "") == 12
    installed = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "farstep" / "runs"
    installed.mkdir(parents=True)
    monkeypatch.setattr(store_module, "__file__", str(installed / "store.py"))
    assert revision() is None
