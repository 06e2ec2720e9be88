"""Logs of other programs, as CSV and Parquet."""

import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from farstep.data.columns import Columns, TimeUnit
from farstep.data.cutting import PER_SECOND
from farstep.data.dataset_files import read_dataset
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError

LOG = """run,t,height,speed,valve,cost,done
b,0.0,1.0,10,0.1,5,false
b,0.1,1.1,11,0.2,6,false
b,0.2,1.2,12,,,true
a,0.0,2.0,20,0.4,8,false
a,0.1,2.1,21,,,false
"""
COLUMNS = Columns(
    observations=("height", "speed"),
    actions=("valve",),
    episode="run",
    reward="cost",
    terminated="done",
    time="t",
)
XU = Columns(("x",), ("u",))
TXU = Columns(("x",), ("u",), time="t")


def read(folder: Path, text: str, columns: Columns | None) -> Episodes:
    path = folder / "log.csv"
    path.write_text(text)
    return read_dataset(path, columns)


def timed(times: list, last_has_action: bool = False) -> str:
    """Return a log with one row for each time."""
    actions = ["0.5"] * len(times)
    actions[-1] = "0.5" if last_has_action else ""
    rows = (f"{t},{n},{u}" for n, (t, u) in enumerate(zip(times, actions, strict=True)))
    return "\n".join(["t,x,u", *rows]) + "\n"


def test_a_log_becomes_episodes(tmp_path: Path):
    data = read(tmp_path, LOG, COLUMNS)
    assert data.lengths.tolist() == [2, 1]
    assert data.signals.observation_names == ("height", "speed")
    assert data.signals.interval == pytest.approx(0.1)
    np.testing.assert_array_equal(data[0].observations, [[1.0, 10], [1.1, 11], [1.2, 12]])
    np.testing.assert_array_equal(data[0].actions, [[0.1], [0.2]])
    assert data[1].rewards is not None
    assert data[1].rewards.tolist() == [8.0]
    assert data.terminated.tolist() == [True, False]
    lines = LOG.splitlines()
    mixed = "\n".join([lines[0], lines[1], lines[4], lines[2], lines[5], lines[3]])
    assert read(tmp_path, mixed, COLUMNS).equals(data)


def test_a_last_step_of_unknown_result_is_left_out(tmp_path: Path):
    """In logs of (observation, action, reward, done) the last step has no next observation."""
    columns = Columns(("x",), ("u",), reward="r", terminated="done")
    with pytest.warns(DataWarning, match=r"1 episode\(s\)"):
        data = read(tmp_path, "x,u,r,done\n0,1,0,0\n1,1,0,0\n2,1,100,1\n", columns)
    assert data.rewards is not None
    assert data.rewards.tolist() == [0.0, 0.0]
    assert (data.terminated.tolist(), data.truncated.tolist()) == ([False], [True])


def test_without_an_episode_column_the_log_is_one_episode(tmp_path: Path):
    data = read(tmp_path, "x,u\n0,1\n1,1\n2,\n", XU)
    assert data.lengths.tolist() == [2]
    assert data.signals.interval is None


def test_gaps_in_time_start_new_episodes(tmp_path: Path):
    times = [0, 1, 2, 3, 10, 20, 21, 22]
    text = "t,x,u\n" + "".join(
        f"{t},{i},{'' if t in (3, 10, 22) else 0}\n" for i, t in enumerate(times)
    )
    with pytest.warns(DataWarning, match=r"2 place\(s\).*1 lone row"):
        data = read(tmp_path, text, TXU)
    assert data.lengths.tolist() == [3, 2]
    assert data[1].observations.ravel().tolist() == [5.0, 6.0, 7.0]
    assert data.truncated.tolist() == [True, False]


def test_the_length_of_a_gap_is_a_choice(tmp_path: Path):
    rows = ((t, "" if t in (5, 9) else 0) for t in (0, 1, 2, 4, 5, 8, 9))
    text = "t,x,u\n" + "".join(f"{t},{t},{u}\n" for t, u in rows)
    columns = Columns(("x",), ("u",), time="t", gap=2.5)
    with pytest.warns(DataWarning) as warned:
        assert read(tmp_path, text, columns).lengths.tolist() == [4, 1]
    notes = " ".join(str(one.message) for one in warned)
    assert "2.5 intervals of 1 s at 1 place(s)" in notes
    assert "1 time step(s)" in notes


def test_time_steps_of_several_lengths_are_noticed(tmp_path: Path):
    times = [*range(60), *(60 + 0.4 * n for n in range(50))]
    with pytest.warns(DataWarning) as warned:
        data = read(tmp_path, timed(times, last_has_action=True), TXU)
    assert any("49 time step(s)" in str(one.message) for one in warned)
    assert any("data row 62" in str(one.message) for one in warned)
    assert data.lengths.tolist() == [109]
    slower = [*(0.1 * n for n in range(60)), *(6 + 0.2 * n for n in range(30))]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        read(tmp_path, timed(slower), TXU)
    assert any("32% of the rows" in str(one.message) for one in warned)


def test_timestamps_in_text_and_the_resolution_of_times(tmp_path: Path):
    stamps = [f"2026-01-01 00:00:00.{i}00" for i in range(5)]
    assert read(tmp_path, timed(stamps), TXU).signals.interval == pytest.approx(0.1)
    exact = [f"{1_772_000_000 + 0.1 * n:.3f}" for n in range(20)]
    assert read(tmp_path, timed(exact), TXU).signals.interval == 0.1
    nanoseconds = [1_700_000_000_000_000_000 + 20_000_000 * n for n in range(5)]
    columns = Columns(("x",), ("u",), time="t", time_unit="ns")
    assert read(tmp_path, timed(nanoseconds), columns).signals.interval == pytest.approx(0.02)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_in_parquet(tmp_path: Path, unit: str):
    step = {"s": 2, "ms": 20, "us": 33_333, "ns": 33_333_333}[unit]
    times = pa.array([step * i for i in range(4)], pa.timestamp(unit))
    table = pa.table({"t": times, "x": [0.0, 1.0, 2.0, 3.0], "u": [0.0, 0.0, 0.0, None]})
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet")
    data = read_dataset(tmp_path / "log.parquet", TXU)
    seconds = step / {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    assert data.signals.interval == pytest.approx(seconds)


UNITS = {"s": 20.0, "ms": 0.02, "us": 2e-5, "ns": 2e-8, "min": 1200.0, "h": 72_000.0}


@pytest.mark.parametrize("unit", get_args(TimeUnit))
def test_numbers_of_times_have_a_unit(tmp_path: Path, unit: TimeUnit):
    assert set(UNITS) == set(PER_SECOND) == set(get_args(TimeUnit))
    columns = Columns(("x",), ("u",), time="t", time_unit=unit)
    data = read(tmp_path, timed([20 * n for n in range(5)]), columns)
    assert data.signals.interval == pytest.approx(UNITS[unit])


def test_time_stamps_that_are_not_used_are_noticed(tmp_path: Path):
    text = "when,x,u\n2026-01-31 12:00:00,1,0.5\n2026-01-31 12:00:01,2,\n"
    with pytest.warns(DataWarning, match="--time 'when'"):
        data = read(tmp_path, text, Columns(observations=("x",), actions=("u",)))
    assert data.signals.interval is None


def test_float32_is_kept_and_unused_columns_are_not_read(tmp_path: Path):
    table = pa.table(
        {
            "x": pa.array([1.0, 2.0, 3.0], pa.float32()),
            "u": pa.array([1, 2, None]),
            "note": ["not", "a", "number"],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet")
    data = read_dataset(tmp_path / "log.parquet", XU)
    assert data.observations.dtype == np.float32
    assert data.actions.dtype == np.float64


def test_a_missing_number_is_no_action(tmp_path: Path):
    """In Parquet an empty cell is null or NaN."""
    columns = {"x": [1.0, 2.0, 3.0], "u": [0.1, 0.2, float("nan")], "done": [False, False, True]}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    data = read_dataset(tmp_path / "log.parquet", Columns(("x",), ("u",), terminated="done"))
    assert (data.terminated.tolist(), data.lengths.tolist()) == ([True], [2])


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (LOG, None, r"height.*speed"),
        (LOG, Columns(("hieght",), ("valve",)), "'hieght'.*'height'"),
        (LOG, Columns(observations=("height",)), "action column"),
        (LOG, Columns(("run",), ("valve",)), "'run'.*'b' on line"),
        (LOG, Columns(("height",), ("valve",), time="t"), "'t'.*data row 4.*--episode"),
        ("t,x,u\n1,1,1\n2,1,1\n2,1,1\n", TXU, "'2' and again '2' at data row 3"),
        (
            "t,x,u\n2026-01-31 10:00:00,1,1\n31.01.2026 10:00:01,1,1\n31.01.2026 10:00:02,1,1\n",
            TXU,
            "'31.01.2026 10:00:01' at data row 2",
        ),
        (
            "t,x,u\n2026-01-31 10:00:00.000000003,1,1\n2026-01-31 10:00:00.000000002,1,1\n",
            TXU,
            "'2026-01-31 10:00:00.000000003' and again '2026-01-31 10:00:00.000000002' at",
        ),
        (
            "t,x,u\n2026-01-31 10:00:00Z,1,1\n2026-01-31 10:00:01,1,1\n",
            TXU,
            "'2026-01-31 10:00:01' at data row 2.*time zone",
        ),
        ("t,x,u\n1,1,1\n,1,1\n2,1,1\n", TXU, "empty .*data row 2"),
        ("x,u\nWARN,V\nERROR,3\n", XU, "'WARN' on line 2[.]"),
        ("t,x,u\n1,1,1\n2,,1\n", TXU, "'x'.*line 3"),
        (LOG, Columns(("height",), ("valve",), time="run"), "'run'.*timestamps"),
        (LOG, Columns(("height",), ("speed",), terminated="done"), "'done'.*episode"),
        (LOG, Columns(("height",), ("speed",), terminated="run"), "'run'.*true and false"),
        ("x,u\nm,V\n1,2\n", XU, "'m' on line 2.*units"),
        ("x,u\nm/s2,V\n1,2\n", XU, "'m/s2' on line 2.*units"),
        ("x,u\n2026-01-01,V\n", XU, "'2026-01-01' on line 2[.]"),
        ("x,u\n1,2\n3\n", XU, "log.csv.*Expected 2 columns, got 1"),
        ("x,u\n", XU, "no rows"),
        ("", XU, "log.csv.*CSV"),
        ("x;u\n1,5;2,0\n2,5;2,0\n", XU, "semicolons"),
        ("x,x,u\n1,1,2\n2,2,2\n", XU, "two columns .*'x'"),
        ("e,x,u\n0,1,1\n1,1,1\n1,1,1\n", Columns(("x",), ("u",), "e"), "episode 0"),
        ("e,x,u\n0,1,1\n,1,1\n1,1,1\n", Columns(("x",), ("u",), "e"), "data row 2"),
        ("x,u\n1,2\nnan,2\n1,2\n", XU, "'x'.*line 3.*--time"),
        ("x,u\n1,2\ninf,2\n1,2\n", XU, "'x'.*line 3"),
        ("x,u\n1,2\n1,\n1,2\n", XU, "'u'.*step 1"),
    ],
)
@pytest.mark.filterwarnings("ignore:the last row of")
def test_bad_logs_are_located(tmp_path: Path, text: str, columns: Columns | None, message: str):
    with pytest.raises(FarstepError, match=message):
        read(tmp_path, text, columns)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path):
    (tmp_path / "latin.csv").write_text("x,u,T °C\n1,2,3\n2,2,3\n", "latin-1")
    with pytest.raises(FarstepError, match=r"latin\.csv.*UTF-8"):
        read_dataset(tmp_path / "latin.csv", XU)


BLANKS = """
 t ,x, u ,run, done
2026-01-01 00:00:00, 1, 2,a, false
 2026-01-01 00:00:01,3, , a,true
"""


@pytest.mark.parametrize("name", ["u", " u "])
def test_blanks_around_names_and_values_are_ignored(tmp_path: Path, name: str):
    columns = Columns(("x",), (name,), episode="run", terminated="done", time="t")
    data = read(tmp_path, BLANKS, columns)
    assert data.observations.tolist() == [[1.0], [3.0]]
    assert data.actions.tolist() == [[2.0]]
    assert data.terminated.tolist() == [True]
    assert data.signals.interval == 1.0
    assert data.signals.action_names == (name,)


def test_names_that_differ_in_blanks_alone(tmp_path: Path):
    text = "x, x,u,v , v\n1,5,2,1,1\n3,6,,1,1\n"
    assert read(tmp_path, text, XU).observations.tolist() == [[1.0], [3.0]]
    other = Columns((" x",), ("u",))
    assert read(tmp_path, text, other).observations.tolist() == [[5.0], [6.0]]
    with pytest.raises(FarstepError, match=r"two columns .*'v'"):
        read(tmp_path, text, Columns(("v",), ("u",)))
    with pytest.raises(FarstepError, match="named twice"):
        read(tmp_path, "x , u\n1,2\n3,\n", Columns(("x", "x "), ("u",)))
    two_lines = Columns(("x\nm",), ("u",))
    assert read(tmp_path, 'u,"x\nm"\n1,2\n,4\n', two_lines).observations.tolist() == [[2.0], [4.0]]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"observations": ("x", "u")}, "'u'"),
        ({"time": "t", "gap": 1.0}, "gap"),
        ({"time": "t", "gap": float("nan")}, "gap"),
        ({"time": "t", "gap": float("inf")}, "gap"),
        ({"gap": 3.0}, "time"),
    ],
)
def test_contradicting_columns_are_refused(settings: dict, name: str):
    with pytest.raises(FarstepError, match=name):
        Columns(**{"observations": ("x",), "actions": ("u",), **settings})
