"""Logs of a user's own, as CSV and Parquet."""

import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from farstep.datasets.columns import Columns, TimeUnit
from farstep.datasets.cutting import PER_SECOND
from farstep.datasets.reading import read
from farstep.errors import DataWarning, FarstepError

LOG = """run,t,height,speed,valve,cost,done
b,0.0,1.0,10,0.1,5,false
b,0.1,1.1,11,0.2,6,false
b,0.2,1.2,12,,,true
a,0.0,2.0,20,0.4,8,false
a,0.1,2.1,21,,,false
"""
COLUMNS = Columns(
    states=("height", "speed"),
    actions=("valve",),
    episode="run",
    reward="cost",
    terminated="done",
    time="t",
)


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_log_becomes_episodes(tmp_path: Path):
    data = read(_write(tmp_path / "log.csv", LOG), COLUMNS)
    assert data.lengths.tolist() == [2, 1]
    assert data.signals.state_names == ("height", "speed")
    assert data.signals.interval == pytest.approx(0.1)
    np.testing.assert_array_equal(data[0].states, [[1.0, 10], [1.1, 11], [1.2, 12]])
    np.testing.assert_array_equal(data[0].actions, [[0.1], [0.2]])
    assert data[1].rewards is not None
    assert data[1].rewards.tolist() == [8.0]
    assert data.terminated.tolist() == [True, False]


def test_a_last_step_without_a_next_state_is_said_and_left_out(tmp_path: Path):
    """Logs of (state, action, reward, done): the step that ended the task has no next state."""
    log = "x,u,r,done\n0,1,0,0\n1,1,0,0\n2,1,100,1\n"
    columns = Columns(("x",), ("u",), reward="r", terminated="done")
    with pytest.warns(DataWarning, match=r"last row of 1 episode\(s\) has an action"):
        data = read(_write(tmp_path / "log.csv", log), columns)
    assert data.rewards is not None
    assert data.rewards.tolist() == [0.0, 0.0]
    assert (data.terminated.tolist(), data.truncated.tolist()) == ([False], [True])


def test_interleaved_episodes_are_brought_together(tmp_path: Path):
    rows = LOG.splitlines()
    mixed = "\n".join([rows[0], rows[1], rows[4], rows[2], rows[5], rows[3]])
    data = read(_write(tmp_path / "mixed.csv", mixed), COLUMNS)
    assert data.equals(read(_write(tmp_path / "log.csv", LOG), COLUMNS))


def test_without_an_episode_column_the_log_is_one_episode(tmp_path: Path):
    text = "x,u\n0,1\n1,1\n2,\n"
    data = read(_write(tmp_path / "log.csv", text), Columns(states=("x",), actions=("u",)))
    assert data.lengths.tolist() == [2]
    assert data.signals.interval is None


def test_gaps_in_time_start_new_episodes_and_are_said(tmp_path: Path):
    times = [0, 1, 2, 3, 10, 20, 21, 22]
    text = "t,x,u\n" + "".join(
        f"{t},{i},{'' if t in (3, 10, 22) else 0}\n" for i, t in enumerate(times)
    )
    columns = Columns(states=("x",), actions=("u",), time="t")
    with pytest.warns(DataWarning, match=r"2 place\(s\).*1 lone row\(s\).*dropped"):
        data = read(_write(tmp_path / "log.csv", text), columns)
    assert data.lengths.tolist() == [3, 2]
    assert data[1].states.ravel().tolist() == [5.0, 6.0, 7.0]
    assert data.truncated.tolist() == [True, False]


def test_timestamps_are_seconds(tmp_path: Path):
    text = "t,x,u\n" + "".join(
        f"2026-01-01 00:00:00.{i}00,{i},{0 if i < 4 else ''}\n" for i in range(5)
    )
    columns = Columns(states=("x",), actions=("u",), time="t")
    data = read(_write(tmp_path / "log.csv", text), columns)
    assert data.signals.interval == pytest.approx(0.1)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit(tmp_path: Path, unit: str):
    step = {"s": 2, "ms": 20, "us": 33_333, "ns": 33_333_333}[unit]
    times = pa.array([step * i for i in range(4)], pa.timestamp(unit))
    table = pa.table({"t": times, "x": [0.0, 1.0, 2.0, 3.0], "u": [0.0, 0.0, 0.0, None]})
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet")
    data = read(tmp_path / "log.parquet", Columns(("x",), ("u",), time="t"))
    seconds = step / {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    assert data.signals.interval == pytest.approx(seconds)


def test_float32_columns_stay_float32_and_unused_ones_are_not_read(tmp_path: Path):
    table = pa.table(
        {
            "x": pa.array([1.0, 2.0, 3.0], pa.float32()),
            "u": pa.array([1, 2, None]),
            "note": ["not", "a", "number"],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet")
    data = read(tmp_path / "log.parquet", Columns(states=("x",), actions=("u",)))
    assert data.states.dtype == np.float32
    assert data.actions.dtype == np.float64


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (LOG, None, "say which columns are states"),
        (LOG, Columns(states=("hieght",), actions=("valve",)), "Did you mean 'height'"),
        (LOG, Columns(states=("height",)), "at least one state column and one action column"),
        (
            LOG,
            Columns(states=("run",), actions=("valve",)),
            "'run' must hold numbers, but has 'b' on line",
        ),
        (
            LOG,
            Columns(("height",), ("valve",), time="t"),
            "goes back at data row 4 from '.*--episode",
        ),
        (
            "t,x,u\n1,1,1\n2,1,1\n2,1,1\n",
            Columns(("x",), ("u",), time="t"),
            "is '2' and again '2' at data row 3 as far as",
        ),
        (
            "t,x,u\n2026-01-31 10:00:00,1,1\n31.01.2026 10:00:01,1,1\n31.01.2026 10:00:02,1,1\n",
            Columns(("x",), ("u",), time="t"),
            "holds '31.01.2026 10:00:01' at data row 2; it must hold numbers, or timestamps",
        ),
        (
            "t,x,u\n2026-01-31 10:00:00.000000003,1,1\n2026-01-31 10:00:00.000000002,1,1\n",
            Columns(("x",), ("u",), time="t"),
            "is '2026-01-31 10:00:00.000000003' and again '2026-01-31 10:00:00.000000002' at",
        ),
        (
            "t,x,u\n2026-01-31 10:00:00Z,1,1\n2026-01-31 10:00:01,1,1\n",
            Columns(("x",), ("u",), time="t"),
            "holds '2026-01-31 10:00:01' at data row 2; .*all with a time zone or all without",
        ),
        ("x,u\nWARN,V\nERROR,3\n", Columns(("x",), ("u",)), "has 'WARN' on line 2[.]"),
        ("t,x,u\n1,1,1\n2,,1\n", Columns(("x",), ("u",), time="t"), "line 3; remove or repair"),
        (LOG, Columns(("height",), ("valve",), time="run"), "must hold numbers, or timestamps"),
        (LOG, Columns(("height",), ("speed",), terminated="done"), "middle of an episode"),
        (LOG, Columns(("height",), ("speed",), terminated="run"), "must hold true and false"),
        ("x,u\nm,V\n1,2\n", Columns(("x",), ("u",)), "has 'm' on line 2, perhaps a row of units"),
        (
            "x,u\nm/s2,V\n1,2\n",
            Columns(("x",), ("u",)),
            "has 'm/s2' on line 2, perhaps a row",
        ),
        ("x,u\n2026-01-01,V\n", Columns(("x",), ("u",)), "has '2026-01-01' on line 2[.]"),
        ("x,u\n1,2\n3\n", Columns(("x",), ("u",)), "Expected 2 columns, got 1"),
        ("x,u\n", Columns(("x",), ("u",)), "no rows"),
        ("", Columns(("x",), ("u",)), "not readable as csv"),
        ("e,x,u\n0,1,1\n1,1,1\n1,1,1\n", Columns(("x",), ("u",), "e"), "episode 0 has one row"),
        ("e,x,u\n0,1,1\n,1,1\n1,1,1\n", Columns(("x",), ("u",), "e"), "empty on data row 2"),
        (
            "x,u\n1,2\nnan,2\n1,2\n",
            Columns(("x",), ("u",)),
            "'x' has 1 value.*empty, NaN or infinite, the first on line 3; .*name a column of time",
        ),
        ("x,u\n1,2\n1,\n1,2\n", Columns(("x",), ("u",)), "NaN or infinite.*'u'.*step 1"),
    ],
)
@pytest.mark.filterwarnings("ignore:the last row of")
def test_bad_logs_say_what_is_wrong(tmp_path: Path, text: str, columns: Columns | None, said: str):
    with pytest.raises(FarstepError, match=said):
        read(_write(tmp_path / "log.csv", text), columns)


def test_rows_that_come_too_soon_are_said(tmp_path: Path):
    times = [*range(60), *(60 + 0.4 * n for n in range(50))]
    rows = [f"{time},{n},0.5" for n, time in enumerate(times)]
    log = _write(tmp_path / "log.csv", "\n".join(["t,x,u", *rows]) + "\n")
    columns = Columns(states=("x",), actions=("u",), time="t")
    with pytest.warns(DataWarning) as said:
        data = read(log, columns)
    assert any(
        "49 row(s) come less than 0.67 or more than 1.5 of the typical interval" in str(one.message)
        and "data row 62" in str(one.message)
        for one in said
    )
    assert data.lengths.tolist() == [109]


def test_a_missing_number_is_no_action(tmp_path: Path):
    """In Parquet an empty cell is null, or not a number."""
    columns = {"x": [1.0, 2.0, 3.0], "u": [0.1, 0.2, float("nan")], "done": [False, False, True]}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    data = read(tmp_path / "log.parquet", Columns(states=("x",), actions=("u",), terminated="done"))
    assert data.terminated.tolist() == [True] and data.lengths.tolist() == [2]


def test_a_rate_that_slows_down_is_told_from_gaps(tmp_path: Path):
    times = [*(0.1 * n for n in range(60)), *(6 + 0.2 * n for n in range(30))]
    rows = [f"{time},{n},0.5" for n, time in enumerate(times)]
    log = _write(tmp_path / "log.csv", "\n".join(["t,x,u", *rows]) + "\n")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read(log, Columns(states=("x",), actions=("u",), time="t"))
    told = "of the rows: the log seems to have several rates"
    assert any(f"32% {told}" in str(one.message) for one in said)


def test_the_interval_is_as_exact_as_the_times(tmp_path: Path):
    rows = [f"{1_772_000_000 + 0.1 * n:.3f},{n},{0.5 if n < 19 else ''}" for n in range(20)]
    log = _write(tmp_path / "log.csv", "\n".join(["t,x,u", *rows]) + "\n")
    assert read(log, Columns(states=("x",), actions=("u",), time="t")).signals.interval == 0.1


def test_a_column_is_a_state_or_an_action():
    with pytest.raises(FarstepError, match="'u' is named as a state and as an action"):
        Columns(states=("x", "u"), actions=("u",))


UNITS = {"s": 20.0, "ms": 0.02, "us": 2e-5, "ns": 2e-8, "min": 1200.0, "h": 72_000.0}


@pytest.mark.parametrize("unit", get_args(TimeUnit))
def test_times_in_any_unit(tmp_path: Path, unit: TimeUnit):
    assert set(UNITS) == set(PER_SECOND) == set(get_args(TimeUnit))
    text = "t,x,u\n" + "".join(f"{20 * n},{n},{0 if n < 4 else ''}\n" for n in range(5))
    columns = Columns(states=("x",), actions=("u",), time="t", time_unit=unit)
    data = read(_write(tmp_path / "log.csv", text), columns)
    assert data.signals.interval == pytest.approx(UNITS[unit])


def test_nanoseconds_since_1970(tmp_path: Path):
    times = (1_700_000_000_000_000_000 + 20_000_000 * n for n in range(5))
    text = "t,x,u\n" + "".join(f"{t},1,{0 if n < 4 else ''}\n" for n, t in enumerate(times))
    columns = Columns(states=("x",), actions=("u",), time="t", time_unit="ns")
    data = read(_write(tmp_path / "log.csv", text), columns)
    assert data.signals.interval == pytest.approx(0.02)


def test_what_counts_as_a_gap_can_be_said(tmp_path: Path):
    rows = ((t, "" if t in (5, 9) else 0) for t in (0, 1, 2, 4, 5, 8, 9))
    log = _write(tmp_path / "log.csv", "t,x,u\n" + "".join(f"{t},{t},{u}\n" for t, u in rows))
    columns = Columns(states=("x",), actions=("u",), time="t", gap=2.5)
    with pytest.warns(DataWarning) as said:
        assert read(log, columns).lengths.tolist() == [4, 1]
    notes = [str(one.message) for one in said]
    assert any("more than 2.5 intervals of 1 s at 1 place(s)" in note for note in notes)
    assert any("1 row(s) come less than 0.67 or more than 1.5" in note for note in notes)


BLANKS = """
 t ,x, u ,run, done
2026-01-01 00:00:00, 1, 2,a, false
 2026-01-01 00:00:01,3, , a,true
"""


def test_blanks_around_names_and_values_do_not_count(tmp_path: Path):
    log = _write(tmp_path / "log.csv", BLANKS)
    for name in ("u", " u "):
        columns = Columns(("x",), (name,), episode="run", terminated="done", time="t")
        data = read(log, columns)
        assert data.states.tolist() == [[1.0], [3.0]] and data.actions.tolist() == [[2.0]]
        assert data.terminated.tolist() == [True] and data.signals.interval == 1.0
        assert data.signals.action_names == (name,)


def test_names_that_differ_in_blanks_alone(tmp_path: Path):
    log = _write(tmp_path / "log.csv", "x, x,u,v , v\n1,5,2,1,1\n3,6,,1,1\n")
    assert read(log, Columns(("x",), ("u",))).states.tolist() == [[1.0], [3.0]]
    assert read(log, Columns((" x",), ("u",))).states.tolist() == [[5.0], [6.0]]
    with pytest.raises(FarstepError, match="two columns are called 'v'"):
        read(log, Columns(("v",), ("u",)))
    with pytest.raises(FarstepError, match="named twice, with and without blanks"):
        read(_write(tmp_path / "one.csv", "x , u\n1,2\n3,\n"), Columns(("x", "x "), ("u",)))


def test_a_name_on_two_lines(tmp_path: Path):
    log = _write(tmp_path / "log.csv", 'u,"x\nm"\n1,2\n,4\n')
    assert read(log, Columns(("x\nm",), ("u",))).states.tolist() == [[2.0], [4.0]]


@pytest.mark.parametrize("gap", [1.0, float("nan"), float("inf")])
def test_a_gap_is_longer_than_an_interval(gap: float):
    with pytest.raises(FarstepError, match=f"gap must be a number above 1, not {gap}"):
        Columns(("x",), ("u",), time="t", gap=gap)
