"""Every format: what is written is read again, and damage or other programs' files are noticed."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings

from farstep.data.columns import Columns
from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError
from strategies import many_episodes

FORMATS = ["data.npz", "data.csv", "data.parquet", "data"]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=many_episodes())
def test_a_round_trip_loses_nothing(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: Episodes
):
    path = write_dataset(data, tmp_path_factory.mktemp("round") / name)
    assert read_dataset(path).equals(data)


def test_a_chain_through_all_formats_loses_nothing(small: Episodes, tmp_path: Path):
    data = small
    for name in FORMATS:
        data = read_dataset(write_dataset(data, tmp_path / name))
    assert data.equals(small)
    assert data.fingerprint == small.fingerprint


def test_the_same_data_are_the_same_bytes(small: Episodes, tmp_path: Path):
    for name in ("one", "two"):
        write_dataset(small, tmp_path / name)
    first, second = (tmp_path / name / "data" / "main_data.hdf5" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_missing_rewards_stay_missing(tmp_path: Path):
    data = Episodes.from_list([Episode(np.zeros((3, 1)), np.zeros((2, 1)))])
    for name in FORMATS:
        assert read_dataset(write_dataset(data, tmp_path / name)).rewards is None


def test_signals_replace_those_of_the_file(small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data.npz")
    other = Signals(("a", "b"), ("c",), action_low=(-2.0,), action_high=(2.0,))
    assert read_dataset(path, signals=other).signals == other
    with pytest.raises(FarstepError, match="observations has shape"):
        read_dataset(path, signals=Signals.unnamed(3, 1))


@pytest.mark.parametrize("lost", ["header", "rewards"])
def test_an_npz_that_lost_a_member_is_refused(lost: str, small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data.npz")
    raw, entry = path.read_bytes(), f"{lost}.npy".encode()
    directory = raw.rfind(entry)  # its name beside the data is left as it is
    path.write_bytes(raw[:directory] + b"other.nqy"[: len(entry)].ljust(len(entry), b"y")
                     + raw[directory + len(entry) :])  # fmt: skip
    with pytest.raises(FarstepError, match=r"data\.npz"):
        read_dataset(path)


def test_an_npz_of_another_program_needs_three_arrays(small: Episodes, tmp_path: Path):
    archive = tmp_path / "other.npz"
    known = {name: getattr(small, name) for name in ("observations", "actions", "lengths")}
    np.savez(archive, csv_header=np.zeros(3), **known)
    data = read_dataset(archive)
    assert data.rewards is None
    assert data.signals.observation_names == ("s0", "s1")
    np.savez(archive, weights=np.zeros(3))
    with pytest.raises(FarstepError, match=r"other\.npz.*'observations'"):
        read_dataset(archive)
    np.savez(archive, observations=np.array([{"a": 1}], dtype=object))  # a pickle
    with pytest.raises(FarstepError, match="NPZ"):
        read_dataset(archive)


def test_a_parquet_file_that_lost_its_header_is_refused(small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data.parquet")
    table = pyarrow.parquet.read_table(path)
    header = (table.schema.metadata or {})[b"farstep"]
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"fbrstep": header}), path)
    with pytest.raises(FarstepError, match="footer"):
        read_dataset(path)
    pandas = json.dumps({"column_indexes": [{"metadata": {"encoding": "UTF-8"}}]})
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"pandas": pandas.encode()}), path)
    assert read_dataset(path).system is None


def test_columns_may_be_in_another_order(small: Episodes, tmp_path: Path):
    write_dataset(small, tmp_path / "data.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "data.parquet")
    turned = table.select(table.column_names[::-1])
    pyarrow.parquet.write_table(turned, tmp_path / "turned.parquet")
    assert read_dataset(tmp_path / "turned.parquet").equals(small)


@pytest.mark.parametrize("name", FORMATS)
def test_a_header_that_was_changed_is_refused(name: str, small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / name)
    file = path / "data" / "metadata.json" if path.is_dir() else path
    if name == "data.npz":
        with np.load(path) as archive:
            arrays = dict(archive)
        arrays["header"] = np.frombuffer(_renamed(arrays["header"].tobytes()), np.uint8)
        np.savez(path, **arrays)
    elif name == "data.parquet":
        table = pyarrow.parquet.read_table(path)
        header = _renamed((table.schema.metadata or {})[b"farstep"])
        pyarrow.parquet.write_table(table.replace_schema_metadata({b"farstep": header}), path)
    else:
        file.write_bytes(_renamed(file.read_bytes()))
    with pytest.raises(FarstepError, match=r"data.*header is damaged"):
        read_dataset(path)


def _renamed(header: bytes) -> bytes:
    assert b"tank" in header
    return header.replace(b"tank", b"sink")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.npz", r"missing.npz.*no such file"),
        ("god.npz", r"good.npz"),
        ("x" * 300, r"too long"),
        ("notes.txt", r"notes.txt.*format"),
        ("bad.hdf5", r"bad.hdf5.*HDF5"),
        ("bad.npz", r"bad.npz.*NPZ"),
        ("bad.parquet", r"bad.parquet.*Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    name: str, message: str, small: Episodes, tmp_path: Path
):
    write_dataset(small, tmp_path / "good.npz")
    for other in ("notes.txt", "bad.hdf5", "bad.npz", "bad.parquet"):
        (tmp_path / other).write_text("hello")
    with pytest.raises(FarstepError, match=message):
        read_dataset(tmp_path / name)
    with pytest.raises(FarstepError, match="'cartpole-swingup/random'"):
        read_dataset("cartpole-swingup/rando")


def test_a_target_is_checked_before_it_is_written(small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data.npz")
    before = path.read_bytes()
    with pytest.raises(FarstepError, match=r"data\.npz exists.*--force"):
        write_dataset(small.take([0]), path)
    assert path.read_bytes() == before
    write_dataset(small.take([0]), path, force=True)
    assert len(read_dataset(path)) == 1
    with pytest.raises(FarstepError, match=r"x\.xls"):
        write_dataset(small, tmp_path / "x.xls")
    with pytest.raises(FarstepError, match="columns"):
        read_dataset(path, Columns(("level",), ("valve",)))
