"""The pool: order, needs, retries and errors, in this process; and once with real workers."""

import io
import os
from concurrent.futures import Future
from pathlib import Path

import pytest
from rich.console import Console

from farstep.errors import FarstepError
from farstep.runtime import progress
from farstep.storage.files import BusyError
from farstep.workflows import worker_pool
from farstep.workflows.runs import Store
from farstep.workflows.sweep import sweep
from farstep.workflows.worker_display import WorkerDisplay, report_to
from farstep.workflows.worker_pool import follow, run_all
from square import Square

CACHE = "JAX_COMPILATION_CACHE_DIR"


def _done(item: str, error: BaseException | None = None) -> Future[str]:
    future: Future[str] = Future()
    if error is None:
        future.set_result(item)
    else:
        future.set_exception(error)
    return future


def test_workers_compute_every_run_once_with_one_thread_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    first = Square(2)
    runs = [Square(5, after=(first,)), Square(6, after=(first,)), Square(6, after=(first,))]
    found = sweep(runs, tmp_path, workers=2)
    assert [found[run]["square"] for run in runs] == [29, 40, 40]
    assert {found[run]["threads"] for run in runs} == {"1"}
    assert (Store(tmp_path).directory(first) / "starts").read_text() == "."
    assert os.environ["OMP_NUM_THREADS"] == "7" and CACHE not in os.environ
    monkeypatch.setattr(worker_pool, "_run_until_death", None)
    assert sweep(runs, tmp_path, workers=1) == found  # nothing is started again


def test_items_start_in_their_order_even_those_that_wait_for_others():
    started, needs = [], {"agent": ["model"]}

    def submit(item: str) -> Future[str]:
        started.append(item)
        return _done(item)

    waiting = dict.fromkeys(["model", "agent", "other", "another"])
    found: dict[str, str] = {}
    with WorkerDisplay(4) as display:
        follow(waiting, found, submit, lambda item: needs.get(item, []), display, at_once=1)
    assert started == list(found) == ["model", "agent", "other", "another"]
    assert waiting == {}


def test_an_item_of_another_process_is_submitted_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "_REFRESH", 0.01)
    started, errors = [], {"a": [BusyError("a"), BusyError("a")]}

    def submit(item: str) -> Future[str]:
        started.append(item)
        return _done(item, errors[item].pop() if errors.get(item) else None)

    found: dict[str, str] = {}
    with WorkerDisplay(2) as display:
        follow(dict.fromkeys("ab"), found, submit, None, display)
    assert started == ["a", "b", "a", "a"] and list(found) == ["b", "a"]


def test_an_error_ends_the_work_and_keeps_what_is_finished():
    waiting, found = dict.fromkeys("ab"), {}

    def submit(item: str) -> Future[str]:
        return _done(item, FarstepError("no") if item == "b" else None)

    with WorkerDisplay(2) as display, pytest.raises(FarstepError, match="no"):
        follow(waiting, found, submit, None, display, at_once=1)
    assert (found, list(waiting)) == ({"a": "a"}, ["b"])


def test_at_least_one_worker_is_needed(tmp_path: Path):
    with pytest.raises(FarstepError, match="workers"):
        run_all([Square(1)], Store(tmp_path).run, workers=0)
    assert run_all([], Store(tmp_path).run, workers=1) == {}


def test_the_display_has_a_line_for_each_living_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "_listeners", [])
    with WorkerDisplay(total=4) as display, progress.Bar("fit", 12, "epochs") as bar:
        report_to(display.folder)
        bar.advance("loss 0.1", by=3)
        (display.folder / "999999999.json").write_text('{"stage": "gone", "done": 1, "total": 2}')
        (display.folder / "1.json").write_text("half writ")
        display.update(1)
        console = Console(width=100, file=io.StringIO())
        with console.capture() as captured:
            console.print(display.workers())
    assert not display.folder.exists()
    lines = captured.get().splitlines()
    (line,) = [line for line in lines if str(os.getpid()) in line]
    assert line.split()[2:] == ["fit", "25%", "loss", "0.1"]
    assert float(line.split()[1]) > 10
    assert not any("gone" in line for line in lines)
