"""Minari datasets: Minari reads ours, and we read those that Minari wrote."""

import dataclasses
import json
from pathlib import Path

import gymnasium
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from farstep.data.dataset_files import read_dataset, write_dataset
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.systems.collect import collect
from farstep.systems.registry import get_system


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Minari's directory of datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def test_minari_reads_what_is_written(small: Episodes, folder: Path):
    write_dataset(small, folder / "tank-v0")
    dataset = minari.load_dataset("tank-v0")
    assert dataset.total_episodes == 3
    assert dataset.total_steps == 11
    assert dataset.action_space == gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    for theirs, ours in zip(dataset.iterate_episodes(), small, strict=True):
        np.testing.assert_array_equal(theirs.observations, ours.observations)
        np.testing.assert_array_equal(theirs.actions, ours.actions)
        np.testing.assert_array_equal(theirs.rewards, ours.rewards)
        assert theirs.terminations[-1] == ours.terminated
        assert theirs.truncations[-1] == ours.truncated
        assert not theirs.terminations[:-1].any()


def test_minari_recovers_the_environment(folder: Path):
    short = dataclasses.replace(get_system("cartpole-swingup"), max_episode_steps=5)
    data = collect(short.with_env_kwargs(observation_noise=0.5), episodes=1)
    write_dataset(data, folder / "lab" / "noisy-v2")
    assert list(minari.list_local_datasets()) == ["lab/noisy-v2"]
    env = minari.load_dataset("lab/noisy-v2").recover_environment()
    assert env.spec is not None
    assert env.spec.kwargs["observation_noise"] == 0.5
    assert env.reset(seed=0)[1]["clean_observation"].shape == (5,)


@pytest.mark.parametrize(
    "collected",
    [
        "Pendulum-v1",
        {"env_id": ["Pendulum-v1"]},
        {"env_id": "Pendulum-v1", "env_kwargs": [1]},
        {"env_id": "Unheard-of-v1"},
    ],
)
def test_odd_metadata_name_no_environment(small: Episodes, tmp_path: Path, collected: object):
    odd = dataclasses.replace(small, metadata={"collected": collected})
    path = write_dataset(odd, tmp_path / "odd")
    assert "env_spec" not in json.loads((path / "data" / "metadata.json").read_text())
    assert read_dataset(path).equals(odd)


def test_a_file_cannot_choose_code_to_run(small: Episodes, tmp_path: Path):
    """Minari makes the environment that metadata.json names if its spaces are missing."""
    path = write_dataset(small, tmp_path / "data")
    metadata = json.loads((path / "data" / "metadata.json").read_text())
    del metadata["action_space"]
    metadata["env_spec"] = '{"id": "Evil-v0", "entry_point": "evil:make"}'
    (path / "data" / "metadata.json").write_text(json.dumps(metadata))
    with pytest.raises(FarstepError, match="action_space"):
        read_dataset(path)


def test_data_that_were_changed_are_refused(small: Episodes, tmp_path: Path):
    path = write_dataset(small, tmp_path / "data")
    file = path / "data" / "main_data.hdf5"
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(FarstepError, match="data are damaged"):
        read_dataset(path)


def written_by_minari(folder: Path, **changes: object) -> Path:
    """Store two episodes with dictionaries as observations by Minari's own writer."""
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


# Minari warns of optional descriptions that are not given.
optional = pytest.mark.filterwarnings("ignore:.* is set to None", "ignore:env_spec is None")


@optional
def test_a_dataset_that_minari_wrote_is_read(folder: Path):
    path = written_by_minari(folder)
    data = read_dataset(path)
    assert data.signals.observation_names == ("arm.0", "arm.1", "goal.0")
    assert data.signals.action_names == ("a0", "a1")
    assert data.signals.action_low == (-2.0, -2.0)
    assert data.metadata["minari"]["algorithm_name"] == "hand"
    stored = list(minari.load_dataset("robot/reach-v1").iterate_episodes())
    for theirs, ours in zip(stored, data, strict=True):
        np.testing.assert_array_equal(theirs.observations["arm"], ours.observations[:, :2])
        np.testing.assert_array_equal(theirs.observations["goal"], ours.observations[:, 2:])
        np.testing.assert_array_equal(theirs.actions, ours.actions)
    assert data.terminated.tolist() == [True, False]
    (path / "data" / "beside.npz").write_bytes(b"")
    with pytest.raises(FarstepError, match="NPZ"):
        read_dataset(path / "data" / "beside.npz")
    for inner in (path / "data", path / "data" / "main_data.hdf5"):
        assert read_dataset(inner).equals(data)


@optional
def test_infos_are_left_out_with_a_warning(folder: Path):
    path = written_by_minari(folder, infos={"energy": np.zeros(4)})
    with pytest.warns(DataWarning, match="energy"):
        read_dataset(path)


@optional
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"terminations": [True, False, False]}, "episode 0 has steps after step 0"),
        ({"actions": np.zeros((3, 2), np.int64)}, "actions.*int64"),
    ],
)
def test_episodes_that_do_not_fit_are_refused(folder: Path, changes: dict, message: str):
    with pytest.raises(FarstepError, match=message):
        read_dataset(written_by_minari(folder, **changes))


@optional
def test_actions_outside_a_recorded_space_are_refused_or_clipped(folder: Path):
    path = written_by_minari(folder, actions=np.full((3, 2), 2.5, np.float32))
    with pytest.raises(FarstepError, match="bounds"):
        read_dataset(path)
    with pytest.warns(DataWarning, match="12 of 12"):
        assert read_dataset(path, clip_actions=True).actions.max() == 2.0
