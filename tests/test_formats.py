"""Every format: what goes in comes out, and others' files are read."""

import dataclasses
import json
from pathlib import Path

import gymnasium
import h5py
import minari
import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from minari.data_collector import EpisodeBuffer

from farstep.datasets.reading import read, write
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.signals import Signals
from farstep.systems.collect import collect
from farstep.systems.registry import system
from strategies import many_episodes

FORMATS = ["data.npz", "data.csv", "data.parquet", "data"]


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=many_episodes())
def test_a_round_trip_loses_nothing(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: Episodes
):
    path = write(data, tmp_path_factory.mktemp("round") / name)
    assert read(path).equals(data)


def test_a_chain_through_all_formats_loses_nothing(small: Episodes, tmp_path: Path):
    data = small
    for name in FORMATS:
        data = read(write(data, tmp_path / name))
    assert data.equals(small)


def test_the_same_data_are_the_same_bytes(small: Episodes, tmp_path: Path):
    for name in ("one", "two"):
        write(small, tmp_path / name)
    first, second = (tmp_path / name / "data" / "main_data.hdf5" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_minari_itself_reads_what_is_written(
    small: Episodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    write(small, tmp_path / "tank-v0")
    dataset = minari.load_dataset("tank-v0")
    assert dataset.total_episodes == 3
    assert dataset.total_steps == 11
    assert dataset.action_space == gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    for theirs, ours in zip(dataset.iterate_episodes(), small, strict=True):
        np.testing.assert_array_equal(theirs.observations, ours.states)
        np.testing.assert_array_equal(theirs.actions, ours.actions)
        np.testing.assert_array_equal(theirs.rewards, ours.rewards)
        assert theirs.terminations[-1] == ours.terminated
        assert theirs.truncations[-1] == ours.truncated
        assert not theirs.terminations[:-1].any()


@pytest.mark.parametrize(
    "collected",
    [
        "Pendulum-v1",
        {"env_id": ["Pendulum-v1"]},
        {"env_id": "Pendulum-v1", "env_options": [1]},
        {"env_id": "Unheard-of-v1"},
    ],
)
def test_what_a_file_says_of_its_environment_may_be_anything(
    small: Episodes, tmp_path: Path, collected: object
):
    odd = dataclasses.replace(small, metadata={"collected": collected})
    path = write(odd, tmp_path / "odd")
    assert "env_spec" not in json.loads((path / "data" / "metadata.json").read_text())
    assert read(path).equals(odd)


def _written_by_minari(folder: Path, **changes: object) -> Path:
    """Two episodes of a dictionary observation, stored by Minari's own writer."""
    rng = np.random.default_rng(0)

    def buffer(number: int) -> EpisodeBuffer:
        whole = {
            "observations": {"goal": rng.normal(size=(4, 1)), "arm": rng.normal(size=(4, 2))},
            "actions": rng.uniform(-2, 2, size=(3, 2)).astype(np.float32),
            "rewards": [0.0, 1.0, 2.0],
            "terminations": [False, False, number == 0],
            "truncations": [False, False, number == 1],
            "infos": None,
        }
        return EpisodeBuffer(id=None, **{**whole, **changes})  # type: ignore[arg-type]

    space = gymnasium.spaces.Dict(
        {
            "goal": gymnasium.spaces.Box(-np.inf, np.inf, (1,)),
            "arm": gymnasium.spaces.Box(-np.inf, np.inf, (2,)),
        }
    )
    minari.create_dataset_from_buffers(
        "robot/reach-v1",
        [buffer(0), buffer(1)],
        observation_space=space,
        action_space=gymnasium.spaces.Box(-2, 2, (2,)),
        algorithm_name="hand",
    )
    return folder / "robot" / "reach-v1"


@pytest.fixture
def minari_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


# Minari says which of its optional descriptions are not given.
minari_says = pytest.mark.filterwarnings("ignore:.* is set to None", "ignore:env_spec is None")


@minari_says
def test_a_dataset_that_minari_wrote_is_read(minari_folder: Path):
    path = _written_by_minari(minari_folder)
    data = read(path)
    assert data.signals.state_names == ("arm.0", "arm.1", "goal.0")
    assert data.signals.action_names == ("a0", "a1")
    assert data.signals.action_low == (-2.0, -2.0)
    assert data.metadata["minari"]["algorithm_name"] == "hand"
    stored = list(minari.load_dataset("robot/reach-v1").iterate_episodes())
    for theirs, ours in zip(stored, data, strict=True):
        np.testing.assert_array_equal(theirs.observations["arm"], ours.states[:, :2])
        np.testing.assert_array_equal(theirs.observations["goal"], ours.states[:, 2:])
        np.testing.assert_array_equal(theirs.actions, ours.actions)
    assert data.terminated.tolist() == [True, False]
    (path / "data" / "beside.npz").write_bytes(b"")
    with pytest.raises(FarstepError, match="not readable as NPZ"):
        read(path / "data" / "beside.npz")
    for inner in (path / "data", path / "data" / "main_data.hdf5"):
        assert read(inner).equals(data)


@minari_says
def test_what_episodes_do_not_hold_is_said(minari_folder: Path):
    path = _written_by_minari(minari_folder, infos={"energy": np.zeros(4)})
    with pytest.warns(DataWarning, match=r"infos \(energy\).*left out"):
        read(path)


@minari_says
def test_an_episode_that_goes_on_after_its_end_is_an_error(minari_folder: Path):
    path = _written_by_minari(minari_folder, terminations=[True, False, False])
    with pytest.raises(FarstepError, match="episode 0 goes on after step 0"):
        read(path)


@minari_says
def test_actions_beyond_a_foreign_space_are_said_or_clipped(minari_folder: Path):
    path = _written_by_minari(minari_folder, actions=np.full((3, 2), 2.5, np.float32))
    with pytest.raises(FarstepError, match="outside their bounds"):
        read(path)
    with pytest.warns(DataWarning, match="12 of 12 actions were clipped"):
        assert read(path, clip_actions=True).actions.max() == 2.0


@minari_says
def test_discrete_actions_are_refused(minari_folder: Path):
    path = _written_by_minari(minari_folder, actions=np.zeros((3, 2), np.int64))
    with pytest.raises(FarstepError, match="continuous"):
        read(path)


def test_a_file_cannot_choose_code_to_run(small: Episodes, tmp_path: Path):
    """Minari makes the environment that metadata.json names if its spaces are missing."""
    path = write(small, tmp_path / "data")
    metadata = json.loads((path / "data" / "metadata.json").read_text())
    del metadata["action_space"]
    metadata["env_spec"] = '{"id": "Evil-v0", "entry_point": "evil:make"}'
    (path / "data" / "metadata.json").write_text(json.dumps(metadata))
    with pytest.raises(FarstepError, match="no action_space"):
        read(path)


@pytest.mark.parametrize("lost", ["header", "rewards"])
def test_a_member_that_an_npz_has_lost_is_missed(lost: str, small: Episodes, tmp_path: Path):
    path = write(small, tmp_path / "data.npz")
    raw, entry = path.read_bytes(), f"{lost}.npy".encode()
    directory = raw.rfind(entry)  # its name beside the data is left as it is
    path.write_bytes(raw[:directory] + b"other.nqy"[: len(entry)].ljust(len(entry), b"y")
                     + raw[directory + len(entry) :])  # fmt: skip
    with pytest.raises(FarstepError, match=r"data\.npz"):
        read(path)
    archive = tmp_path / "others.npz"
    known = {name: getattr(small, name) for name in ("states", "actions", "lengths")}
    np.savez(archive, csv_header=np.zeros(3), **known)
    assert read(archive).rewards is None


def test_a_header_that_a_parquet_file_has_lost_is_missed(small: Episodes, tmp_path: Path):
    path = write(small, tmp_path / "data.parquet")
    table = pyarrow.parquet.read_table(path)
    header = (table.schema.metadata or {})[b"farstep"]
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"fbrstep": header}), path)
    with pytest.raises(FarstepError, match="footer is damaged"):
        read(path)
    pandas = json.dumps({"column_indexes": [{"metadata": {"encoding": "UTF-8"}}]})
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"pandas": pandas.encode()}), path)
    assert read(path).system is None


def test_a_pickle_in_an_npz_is_refused(tmp_path: Path):
    np.savez(tmp_path / "bad.npz", states=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FarstepError, match="not readable as NPZ"):
        read(tmp_path / "bad.npz")


def _d4rl(path: Path, **changes: np.ndarray | None) -> Path:
    """Six rows: an episode of 3 that terminates, one of 2 cut off by time, one unfinished."""
    arrays = {
        "observations": np.arange(12.0, dtype=np.float32).reshape(6, 2),
        "next_observations": np.arange(12.0, dtype=np.float32).reshape(6, 2) + 2,
        "actions": np.zeros((6, 1), np.float32),
        "rewards": np.arange(6.0),
        "terminals": np.array([0, 0, 1, 0, 0, 0], bool),
        "timeouts": np.array([0, 0, 0, 0, 1, 0], bool),
        **changes,
    }
    with h5py.File(path, "w") as file:
        for name, value in arrays.items():
            if value is not None:
                file[name] = value
    return path


def test_d4rl_files_are_cut_at_terminals_and_timeouts(tmp_path: Path):
    data = read(_d4rl(tmp_path / "d4rl.hdf5"))
    assert data.lengths.tolist() == [3, 2, 1]
    assert data.terminated.tolist() == [True, False, False]
    assert data.truncated.tolist() == [False, True, True]
    assert data[0].states[-1].tolist() == [6.0, 7.0]
    assert data[1].rewards is not None
    assert data[1].rewards.tolist() == [3.0, 4.0]


def test_d4rl_files_without_next_observations_lose_each_last_step_and_say_so(tmp_path: Path):
    path = _d4rl(tmp_path / "d4rl.hdf5", next_observations=None)
    with pytest.warns(DataWarning, match="last step of each of 3 episodes"):
        data = read(path)
    assert data.lengths.tolist() == [2, 1]
    assert data.terminated.tolist() == [False, False]
    assert data[0].states.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_d4rl_files_are_cut_where_the_next_observation_is_another(tmp_path: Path):
    following = np.arange(12.0, dtype=np.float32).reshape(6, 2) + 2
    following[3] += 0.5
    none = np.zeros(6, bool)
    path = _d4rl(tmp_path / "a.hdf5", next_observations=following, terminals=none, timeouts=none)
    with pytest.warns(DataWarning, match=r"at 1 place\(s\) without a flag"):
        data = read(path)
    assert data.lengths.tolist() == [4, 2]
    assert data.truncated.all()
    path = _d4rl(tmp_path / "b.hdf5", next_observations=None, terminals=None, timeouts=None)
    with pytest.warns(DataWarning) as said:
        assert read(path).lengths.tolist() == [5]
    assert any("taken as one episode" in str(warning.message) for warning in said)


def test_ragged_d4rl_arrays_are_an_error(tmp_path: Path):
    path = _d4rl(tmp_path / "d4rl.hdf5", rewards=np.zeros(5))
    with pytest.raises(FarstepError, match=r"6 rows, but others differ: {'rewards': 5}"):
        read(path)


def test_signals_can_be_given_on_reading(small: Episodes, tmp_path: Path):
    path = write(small, tmp_path / "data.npz")
    other = Signals(("a", "b"), ("c",), action_low=(-2.0,), action_high=(2.0,))
    assert read(path, signals=other).signals == other
    with pytest.raises(FarstepError, match="states has shape"):
        read(path, signals=Signals.unnamed(3, 1))


def test_columns_may_be_in_another_order(small: Episodes, tmp_path: Path):
    write(small, tmp_path / "data.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "data.parquet")
    turned = table.select(table.column_names[::-1])
    pyarrow.parquet.write_table(turned, tmp_path / "turned.parquet")
    assert read(tmp_path / "turned.parquet").equals(small)


def test_minari_can_make_the_environment_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    short = dataclasses.replace(system("cartpole-swingup"), episode_steps=5)
    write(collect(short.with_options(noise=0.5), episodes=1), tmp_path / "lab" / "noisy-v2")
    assert list(minari.list_local_datasets()) == ["lab/noisy-v2"]
    env = minari.load_dataset("lab/noisy-v2").recover_environment()
    assert env.spec is not None
    assert env.spec.kwargs["noise"] == 0.5
    assert env.reset(seed=0)[1]["clean_state"].shape == (5,)


def test_a_minari_dataset_keeps_no_rewards_as_none(tmp_path: Path):
    data = Episodes.from_list([Episode(np.zeros((3, 1)), np.zeros((2, 1)))])
    assert read(write(data, tmp_path / "data")).rewards is None
