"""Minari datasets: a directory with `data/main_data.hdf5` and `data/metadata.json`."""

import copy
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from farstep.data.episodes import ARRAYS, Episode, Episodes
from farstep.data.npz import check_header, to_header, with_header
from farstep.data.signals import Signals
from farstep.errors import DataWarning, FarstepError

FILES = ("data/main_data.hdf5", "data/metadata.json")
"""The files in a dataset's directory."""
_DATA, _METADATA = FILES
_HEADER = "farstep"
_CLEAN = "clean_observation"


def encode(episodes: Episodes, path: Path) -> dict[str, bytes]:
    """Return the files of a dataset that `minari.MinariDataset` opens, by relative name.

    Minari's own writer does not compress and writes in place, so this function writes the
    documented layout; a test reads it with Minari.
    """
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", track_order=True) as file:
        for number, episode in enumerate(episodes):
            _write_episode(file.create_group(f"episode_{number}"), number, episode)
    data = buffer.getvalue()
    metadata = _metadata(episodes, path, data)
    return {_DATA: data, _METADATA: json.dumps(metadata, indent=1).encode()}


def read(path: Path) -> tuple[Episodes, Signals]:
    """Read a dataset, also of other programs. The environment that it names is never made."""
    folder = _data_folder(path)
    metadata = json.loads((folder / "metadata.json").read_text())
    ours = metadata.get(_HEADER)
    if ours:
        _check_seal(folder, metadata, ours)
    for space in ("observation_space", "action_space"):
        # To find the spaces, Minari would make the environment that the file names, and so run
        # code that the file chooses.
        if space not in metadata:
            raise FarstepError(f"its metadata.json has no {space}; save it again with Minari.")
    from minari.dataset.minari_storage import MinariStorage

    stored = list(MinariStorage.read(folder).get_episodes(range(metadata["total_episodes"])))
    if not stored:
        raise FarstepError("the dataset has no episodes.")
    episodes = [_as_episode(number, one, bool(ours)) for number, one in enumerate(stored)]
    if not ours:
        return _foreign(path, episodes, stored, metadata)
    joined = Episodes.from_list(episodes)
    return with_header({name: getattr(joined, name) for name in ARRAYS}, ours)


def is_dataset(path: Path) -> bool:
    """Return whether the path is a Minari dataset's directory, or its data folder or file."""
    if path.is_file() and path.name != Path(_DATA).name:
        return False
    return (_data_folder(path) / "metadata.json").exists()


def _data_folder(path: Path) -> Path:
    if path.is_file():
        return path.parent
    return path / "data" if (path / "data").is_dir() else path


def _write_episode(group: h5py.Group, number: int, episode: Episode) -> None:
    steps = len(episode.actions)
    group.attrs.update(id=number, total_steps=steps)
    ends = np.arange(steps) == steps - 1
    # Minari requires rewards; NaN marks that there are none, for `read`.
    rewards = np.full(steps, np.nan) if episode.rewards is None else episode.rewards
    for name, value in {
        "observations": episode.observations,
        "actions": episode.actions,
        "rewards": rewards,
        "terminations": ends & episode.terminated,
        "truncations": ends & episode.truncated,
        f"infos/{_CLEAN}": episode.clean_observations,
    }.items():
        if value is not None:
            group.create_dataset(
                name, data=value, compression="gzip", shuffle=True, track_times=False
            )


def _metadata(episodes: Episodes, path: Path, data: bytes) -> dict[str, Any]:
    import minari
    from gymnasium.spaces import Box
    from minari.serialization import serialize_space

    signals = episodes.signals
    d, observations = signals.num_observations, episodes.observations.dtype
    actions = episodes.actions.dtype
    low, high = np.array(signals.action_low, actions), np.array(signals.action_high, actions)
    theirs = episodes.metadata.get("minari")
    return {
        **(theirs if isinstance(theirs, dict) else {}),
        **_environment(episodes.metadata.get("collected")),
        "dataset_id": _dataset_id(path),
        "minari_version": minari.__version__,
        "data_format": "hdf5",
        "total_episodes": len(episodes),
        "total_steps": episodes.num_steps,
        "dataset_size": round(len(data) / 1e6, 1),
        "observation_space": serialize_space(Box(-np.inf, np.inf, (d,), observations.type)),
        "action_space": serialize_space(Box(low, high, dtype=actions.type)),
        _HEADER: to_header(episodes, data=hashlib.sha256(data).hexdigest(), count=len(episodes)),
    }


def _dataset_id(path: Path) -> str:
    """Return Minari's id: the path below its own directory, or its last part; with a version."""
    name = path.name
    root = os.environ.get("MINARI_DATASETS_PATH")
    if root and path.absolute().is_relative_to(Path(root).absolute()):
        name = path.absolute().relative_to(Path(root).absolute()).as_posix()
    return name if re.search(r"-v\d+$", name) else f"{name}-v0"


def _environment(collected: Any) -> dict[str, str]:
    """Return the specification from which Minari recovers the environment, where it is known.

    `collected` may come from another program's file, and so be anything.
    """
    import gymnasium

    recipe = collected if isinstance(collected, dict) else {}
    env_id, options = recipe.get("env_id"), recipe.get("env_kwargs", {})
    found = gymnasium.registry.get(env_id) if isinstance(env_id, str) else None
    if found is None or not isinstance(options, dict):
        return {}
    spec = copy.deepcopy(found)
    spec.kwargs.update(options)
    return {"env_spec": spec.to_json()}


def _check_seal(folder: Path, metadata: Mapping[str, Any], ours: Any) -> None:
    """Fail unless the data are those that Farstep wrote with this metadata.

    This happens before they are opened: the HDF5 library may crash on a damaged file.
    """
    check_header(ours)
    with (folder / Path(_DATA).name).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if (found, metadata.get("total_episodes")) != (ours["data"], ours["count"]):
        raise FarstepError(
            "its data are damaged or were changed by another tool; in the latter case remove "
            f"'{_HEADER}' from its metadata.json."
        )


def _as_episode(number: int, stored: Mapping[str, Any], ours: bool) -> Episode:
    ends = stored["terminations"] | stored["truncations"]
    if ends[:-1].any():
        raise FarstepError(
            f"episode {number} has steps after step {int(np.argmax(ends))}, which terminates or "
            "truncates it; split it there and write the dataset again."
        )
    rewards = np.asarray(stored["rewards"])
    clean = (stored["infos"] or {}).get(_CLEAN) if ours else None
    return Episode(
        observations=_flat(stored["observations"], "observations"),
        actions=_flat(stored["actions"], "actions"),
        rewards=None if ours and np.isnan(rewards).all() else rewards,
        terminated=bool(stored["terminations"][-1:].any()),
        truncated=bool(stored["truncations"][-1:].any()),
        clean_observations=clean,
    )


def _foreign(
    path: Path, episodes: list[Episode], stored: list[dict[str, Any]], metadata: dict[str, Any]
) -> tuple[Episodes, Signals]:
    """Return another program's dataset without bounds, and the signals that Minari records."""
    from gymnasium.spaces import flatten_space
    from minari.serialization import deserialize_space

    infos = sorted({key for episode in stored for key in episode["infos"] or {}})
    if infos:
        warnings.warn(
            f"{path}: the infos ({', '.join(infos)}) are left out; Farstep's episodes have none.",
            DataWarning,
            stacklevel=3,
        )
    del metadata["observation_space"]
    actions: Any = flatten_space(deserialize_space(metadata.pop("action_space")))
    signals = Signals(
        observation_names=_names(stored[0]["observations"], "s"),
        action_names=_names(stored[0]["actions"], "a"),
        action_low=tuple(actions.low.tolist()),
        action_high=tuple(actions.high.tolist()),
    )
    env_spec = json.loads(metadata.get("env_spec") or "{}")
    env_id = env_spec.get("id") if isinstance(env_spec, dict) else None
    unbounded = Episodes.from_list(episodes, system=env_id, metadata={"minari": metadata})
    return unbounded, signals


def _flat(value: Any, name: str) -> np.ndarray:
    """Join the boxes of a dictionary or tuple, in order, into one vector for each row."""
    parts = list(_parts(value, ""))
    for key, part in parts:
        if part.dtype.kind not in "f":
            raise FarstepError(
                f"{name}{key} have dtype {part.dtype}; Farstep needs continuous observations and "
                "actions (a Box of floating-point numbers)."
            )
    return np.concatenate([part.reshape(len(part), -1) for _, part in parts], axis=1)


def _names(value: Any, prefix: str) -> tuple[str, ...]:
    return tuple(
        f"{key.lstrip('.') or prefix}{'.' if key else ''}{i}"
        for key, part in _parts(value, "")
        for i in range(int(np.prod(part.shape[1:])))
    )


def _parts(value: Any, key: str) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, dict):
        for name in sorted(value):
            yield from _parts(value[name], f"{key}.{name}")
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _parts(part, f"{key}.{number}")
    else:
        yield key, np.asarray(value)
