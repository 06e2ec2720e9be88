"""Minari datasets: a directory with `data/main_data.hdf5` and `data/metadata.json`."""

import copy
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from farstep.datasets.header import check_header, to_header, with_header
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError, one_line
from farstep.signals import Signals

FILES = ("data/main_data.hdf5", "data/metadata.json")
"""What is in a dataset's directory."""
_DATA, _METADATA = FILES
_OURS = "farstep"
_ARRAYS = (
    *("states", "actions", "lengths", "rewards"),
    *("terminated", "truncated", "clean_states"),
)
_CLEAN = "clean_state"


def encode(episodes: Episodes, path: Path) -> dict[str, bytes]:
    """Return the files of a dataset that `minari.MinariDataset` opens, by relative name.

    Minari's own writer does not compress and writes in place, so the (documented) layout is
    written here; the tests read it back with Minari.
    """
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", track_order=True) as file:
        for number, episode in enumerate(episodes):
            _write_episode(file.create_group(f"episode_{number}"), number, episode)
    data = buffer.getvalue()
    metadata = _metadata(episodes, path, data)
    return {_DATA: data, _METADATA: json.dumps(metadata, indent=1).encode()}


def read(path: Path, clip_actions: bool = False) -> Episodes:
    """Read a dataset, whoever wrote it. The environment named in it is never made."""
    folder = _data_folder(path)
    try:
        metadata = json.loads((folder / "metadata.json").read_text())
        _check_seal(folder, metadata)
        recorded = list(_stored_episodes(folder, metadata))
    except (OSError, RuntimeError, KeyError, ValueError, AssertionError, TypeError) as error:
        raise FarstepError(f"not readable as a Minari dataset: {one_line(error)}") from error
    if not recorded:
        raise FarstepError("the dataset has no episodes.")
    ours = metadata.get(_OURS)
    episodes = [_as_episode(number, stored, ours) for number, stored in enumerate(recorded)]
    if ours:
        joined = Episodes.from_list(episodes)
        arrays = {name: getattr(joined, name) for name in _ARRAYS}
        return with_header(arrays, ours, clip_actions)
    unbounded, signals = _foreign(path, episodes, recorded, metadata)
    return unbounded.with_signals(signals, clip_actions)


def is_dataset(path: Path) -> bool:
    """Whether the path is a Minari dataset's directory, or its data folder or file."""
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
    # Minari requires rewards; where there are none, NaN says so (and `read` takes it back).
    rewards = np.full(steps, np.nan) if episode.rewards is None else episode.rewards
    for name, value in {
        "observations": episode.states,
        "actions": episode.actions,
        "rewards": rewards,
        "terminations": ends & episode.terminated,
        "truncations": ends & episode.truncated,
    }.items():
        _compressed(group, name, value)
    if episode.clean_states is not None:
        _compressed(group.create_group("infos"), _CLEAN, episode.clean_states)


def _compressed(group: h5py.Group, name: str, value: np.ndarray) -> None:
    group.create_dataset(name, data=value, compression="gzip", shuffle=True, track_times=False)


def _metadata(episodes: Episodes, path: Path, data: bytes) -> dict[str, Any]:
    import minari
    from gymnasium.spaces import Box
    from minari.serialization import serialize_space

    signals = episodes.signals
    d, states, actions = signals.num_states, episodes.states.dtype, episodes.actions.dtype
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
        "observation_space": serialize_space(Box(-np.inf, np.inf, (d,), states.type)),
        "action_space": serialize_space(Box(low, high, dtype=actions.type)),
        _OURS: to_header(episodes, data=hashlib.sha256(data).hexdigest(), count=len(episodes)),
    }


def _dataset_id(path: Path) -> str:
    """Return Minari's id: the path below its own directory, or its last part; with a version."""
    name = path.name
    root = os.environ.get("MINARI_DATASETS_PATH")
    if root and path.absolute().is_relative_to(Path(root).absolute()):
        name = path.absolute().relative_to(Path(root).absolute()).as_posix()
    return name if re.search(r"-v\d+$", name) else f"{name}-v0"


def _environment(collected: Any) -> dict[str, str]:
    """Return the specification by which Minari makes the environment again, where it is known.

    `collected` may come from a file of another's, and so be anything.
    """
    import gymnasium

    told = collected if isinstance(collected, dict) else {}
    env_id, options = told.get("env_id"), told.get("env_options", {})
    found = gymnasium.registry.get(env_id) if isinstance(env_id, str) else None
    if found is None or not isinstance(options, dict):
        return {}
    spec = copy.deepcopy(found)
    spec.kwargs.update(options)
    return {"env_spec": spec.to_json()}


def _check_seal(folder: Path, metadata: Mapping[str, Any]) -> None:
    """Fail if the data are not those that Farstep wrote with this metadata.

    Before they are opened: the HDF5 library may crash on a damaged file.
    """
    ours = metadata.get(_OURS)
    if not ours:
        return
    check_header(ours)
    if "data" not in ours:  # written before there was one
        return
    with (folder / Path(_DATA).name).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if (found, metadata.get("total_episodes")) != (ours["data"], ours["count"]):
        raise FarstepError(
            "it is not the dataset that Farstep wrote: damaged, or changed by another tool. If the "
            f"latter, remove '{_OURS}' from its metadata.json."
        )


def _stored_episodes(folder: Path, metadata: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for space in ("observation_space", "action_space"):
        # Minari would make the environment that the file names to learn its spaces, and so run
        # code that the file chooses.
        if space not in metadata:
            raise FarstepError(f"its metadata.json has no {space}; save it again with Minari.")
    from minari.dataset.minari_storage import MinariStorage

    return MinariStorage.read(folder).get_episodes(range(metadata["total_episodes"]))


def _as_episode(number: int, stored: Mapping[str, Any], ours: Any) -> Episode:
    ends = stored["terminations"] | stored["truncations"]
    if ends[:-1].any():
        raise FarstepError(
            f"episode {number} goes on after step {int(np.argmax(ends))}, which ends it; "
            "split it there and write the dataset again."
        )
    rewards = np.asarray(stored["rewards"])
    clean = (stored["infos"] or {}).get(_CLEAN) if ours else None
    return Episode(
        states=_flat(stored["observations"], "observations"),
        actions=_flat(stored["actions"], "actions"),
        rewards=None if ours and np.isnan(rewards).all() else rewards,
        terminated=bool(stored["terminations"][-1:].any()),
        truncated=bool(stored["truncations"][-1:].any()),
        clean_states=clean,
    )


def _foreign(
    path: Path, episodes: list[Episode], stored: list[dict[str, Any]], metadata: dict[str, Any]
) -> tuple[Episodes, Signals]:
    """Return a dataset that another tool wrote, and the signals that Minari records of it."""
    infos = sorted({key for episode in stored for key in episode["infos"] or {}})
    if infos:
        warnings.warn(
            f"{path}: the infos ({', '.join(infos)}) are no part of Farstep's episodes and are "
            "left out.",
            DataWarning,
            stacklevel=3,
        )
    spaces = {key: json.loads(metadata.pop(key)) for key in ("observation_space", "action_space")}
    signals = Signals(
        state_names=_names(stored[0]["observations"], "s"),
        action_names=_names(stored[0]["actions"], "a"),
        action_low=tuple(_bounds(spaces["action_space"], "low")),
        action_high=tuple(_bounds(spaces["action_space"], "high")),
    )
    env_spec = json.loads(metadata.get("env_spec") or "{}")
    env_id = env_spec.get("id") if isinstance(env_spec, dict) else None
    unbounded = Episodes.from_list(episodes, system=env_id, metadata={"minari": metadata})
    return unbounded, signals


def _flat(value: Any, name: str) -> np.ndarray:
    """Join the parts of a dictionary or tuple of boxes, in order, into one vector a row."""
    parts = list(_parts(value, ""))
    for key, part in parts:
        if part.dtype.kind not in "f":
            raise FarstepError(
                f"{name}{key} hold {part.dtype} values; Farstep needs continuous (Box, floating "
                "point) observations and actions."
            )
    return np.concatenate([part.reshape(len(part), -1) for _, part in parts], axis=1)


def _names(value: Any, prefix: str) -> tuple[str, ...]:
    return tuple(
        f"{key.lstrip('.') or prefix}{'.' if key else ''}{i}"
        for key, part in _parts(value, "")
        for i in range(int(np.prod(part.shape[1:])))
    )


def _bounds(space: Mapping[str, Any], side: str) -> Iterator[float]:
    if "subspaces" in space:
        parts = space["subspaces"]
        for part in (parts[key] for key in sorted(parts)) if isinstance(parts, dict) else parts:
            yield from _bounds(part, side)
    else:
        yield from np.ravel(space[side]).tolist()


def _parts(value: Any, key: str) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, dict):
        for name in sorted(value):
            yield from _parts(value[name], f"{key}.{name}")
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _parts(part, f"{key}.{number}")
    else:
        yield key, np.asarray(value)
