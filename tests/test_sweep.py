"""Sweeps: what is begun when, what kills cost, and how long it is expected to take."""

import dataclasses
import io
import json
import os
from concurrent.futures import Future
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from farstep import progress
from farstep.errors import FarstepError
from farstep.fitting.config import fit_config
from farstep.runs.board import Board, report_to
from farstep.runs.estimate import estimate
from farstep.runs.makespan import Job, makespan
from farstep.runs.pool import follow, run_all
from farstep.runs.scored_fit import ScoredFit
from farstep.runs.store import Store
from farstep.runs.sweep import sweep, to_compute
from square import Square

TINY = fit_config("paper", epochs=1, width=4, depth=1, batch=256)


def test_what_a_run_needs_is_computed_first_and_once(tmp_path: Path):
    first = Square(2)
    runs = [Square(5, after=(first,)), Square(6, after=(first,))]
    found = sweep(runs, Store(tmp_path), workers=2)
    assert [found[run]["square"] for run in runs] == [29, 40]
    assert (Store(tmp_path).place(first) / "begun").read_text() == "."
    assert sweep(runs, Store(tmp_path), workers=1) == found


@dataclasses.dataclass(frozen=True)
class Lasting(Square):
    """Said to take as many seconds as its number."""

    @property
    def usual_seconds(self) -> float:
        return self.number


def test_the_longest_begin_first_with_what_waits_for_them(tmp_path: Path):
    short, other, long = Lasting(1), Lasting(30), Lasting(40)
    last = Lasting(50, after=(short,))
    assert to_compute([other, last, long], Store(tmp_path)) == [short, last, long, other]
    equal = [Lasting(7, times_killed=n) for n in range(3)]
    assert to_compute(equal, Store(tmp_path)) == equal, "as they were asked for"


def test_what_was_asked_for_first_is_begun_first_also_after_waiting():
    begun, needs = [], {"agent": ["model"]}

    def submit(item: str) -> Future[str]:
        begun.append(item)
        done: Future[str] = Future()
        done.set_result(item)
        return done

    waiting = dict.fromkeys(["model", "agent", "other", "another"])
    with Board(4) as board:
        follow(waiting, {}, submit, lambda item: needs.get(item, []), board, at_once=1)
    assert begun == ["model", "agent", "other", "another"]
    jobs = [Job(1.0), Job(5.0, after=(0,)), Job(2.0), Job(2.0)]
    assert makespan(jobs, 2) == 6.0  # the agent is not behind both others


def test_a_sweep_survives_killed_workers(tmp_path: Path):
    # Two kills in all: three in a row with nothing finished in between would end the sweep.
    runs = [Square(1), Square(2, times_killed=1), Square(3), Square(4, times_killed=1)]
    found = sweep(runs, Store(tmp_path), workers=2)
    assert [found[run]["square"] for run in runs] == [1, 4, 9, 16]
    # Begun again, and once more if another's kill met it before it was marked as finished.
    assert len((Store(tmp_path).place(runs[1]) / "begun").read_text()) >= 2
    record = Store(tmp_path).record(runs[1])
    assert record is not None and record["seconds"] is None, "its last process is not all of it"


def test_a_run_that_always_kills_its_worker_ends_the_sweep(tmp_path: Path):
    runs = [Square(1), Square(2, times_killed=99)]
    with pytest.raises(FarstepError, match=r"died 3 times in a row.*__main__"):
        sweep(runs, Store(tmp_path), workers=1)
    assert Store(tmp_path).missing(runs) == [runs[1]]
    with pytest.raises(FarstepError, match="at least 1"):
        run_all(runs, Store(tmp_path).run, workers=0)


def test_the_estimate_goes_by_finished_runs_of_the_same_settings(tmp_path: Path):
    store = Store(tmp_path)
    found = estimate([Square(1), Square(2)], store)
    assert (found.missing, found.seconds, found.measured) == ({"square": 2}, {"square": 7200.0}, 0)
    assert found.hours(workers=2) == 1.0
    chain = estimate([Square(5, after=(Square(1),)), Square(2)], store)
    assert [chain.hours(workers) for workers in (1, 2, 9)] == [3.0, 2.0, 2.0]
    with pytest.raises(FarstepError, match="workers must be a whole number of at least 1, not 0"):
        chain.hours(workers=0)
    config = dataclasses.replace(TINY, seed=3)
    fit = ScoredFit("cartpole-swingup/random", config, 10)
    record = {"kind": "fit", "settings": fit.settings, "data": "", "result": {}, "seconds": 40.0}
    place = tmp_path / "records" / "fit-0"
    place.mkdir(parents=True)
    (place / "run.json").write_text(json.dumps(record))
    other = dataclasses.replace(fit, config=TINY)
    found = estimate([other], Store(tmp_path / "empty", (tmp_path / "records",)))
    assert (found.seconds, found.measured) == ({"fit": 40.0}, 1)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sets(st.integers(0, 19), max_size=3)), max_size=20),
    st.integers(1, 8),
)
def test_a_plan_is_between_its_bounds(given: list[tuple[int, set[int]]], workers: int):
    jobs = [
        Job(float(seconds), tuple(number for number in after if number < place))
        for place, (seconds, after) in enumerate(given)
    ]
    ends: list[float] = []
    for job in jobs:  # the longest chain
        ends.append(job.seconds + max((ends[number] for number in job.after), default=0.0))
    work, longest = sum(job.seconds for job in jobs), max(ends, default=0.0)
    found = makespan(jobs, workers)
    assert max(longest, work / workers) <= found <= longest + work / workers  # Graham's bound
    assert makespan(jobs, 1) == work


def test_the_board_shows_who_is_alive_and_where(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "_listeners", [])
    with Board(total=4) as board, progress.Bar("fit", 12, "epochs") as bar:
        report_to(board.folder)
        bar.advance("loss 0.1", by=3)
        (board.folder / "999999999.json").write_text('{"stage": "gone", "done": 1, "total": 2}')
        (board.folder / "1.json").write_text("half writ")
        board.show(1)
        lines = _printed(board.workers())
    assert not board.folder.exists()
    (line,) = [line for line in lines if str(os.getpid()) in line]
    assert line.split()[2:] == ["fit", "25%", "loss", "0.1"]
    assert float(line.split()[1]) > 10
    assert not any("gone" in line for line in lines)


def _printed(table: Table) -> list[str]:
    console = Console(width=100, file=io.StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()
