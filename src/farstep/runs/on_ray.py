"""The same runs as tasks on a Ray cluster; results come back into the caller's store."""

import io
import socket
import tarfile
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from farstep.errors import FarstepError, one_line
from farstep.files import locked, publish, remove_parts
from farstep.packages import require
from farstep.runs.board import Board
from farstep.runs.pool import ONE_THREAD, follow
from farstep.runs.run import Run, name_of
from farstep.runs.store import RECORD, Store

_RETRIES = 5
"""How often a task is started again whose node was lost."""
_ATTEMPTS = 5
"""How often a connection is begun that the cluster ends again."""
_SWEEP = ".sweep"
"""What a sweep on a cluster locks."""


def run_all_on_ray(
    runs: Sequence[Run],
    store: Store,
    address: str,
    needs: Callable[[Run], Collection[Run]],
) -> None:
    """Compute every run on a cluster and put it into the store, where it is as if computed here.

    Every node needs this version of Farstep, and datasets that are files at the same path.
    """
    ray = _ray()
    _connect(ray, address)
    try:
        with locked(store.folder / _SWEEP):  # of two on a cluster one waits: nothing is done twice
            _run_all(ray, store.missing(runs, here=True), store, needs)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, FarstepError):  # of the run itself, as on this machine
            raise FarstepError(str(error.cause)) from error
        raise
    except ray.exceptions.RayError as error:
        said = one_line(error)
        raise FarstepError(f"the Ray cluster failed: {said} What was finished is kept.") from error
    finally:
        ray.shutdown()


def _run_all(
    ray: Any, runs: Sequence[Run], store: Store, needs: Callable[[Run], Collection[Run]]
) -> None:
    remote = ray.remote(max_retries=_RETRIES, num_cpus=1)(computed)
    packed: dict[Run, Any] = {}
    todo = set(runs)

    def submit(run: Run) -> Future[None]:
        for one in run.needs:
            if one not in packed and (store.place(one) / RECORD).exists():
                packed[one] = ray.put(pack(store.place(one)))
        files = {name_of(one): packed[one] for one in run.needs if one in packed}
        task = remote.remote(run, list(files), *files.values())
        return _then(task.future(), lambda data: unpack(data, store.place(run)))

    with Board(len(runs)) as board:
        waiting = dict.fromkeys(runs)
        follow(waiting, {}, submit, lambda run: [one for one in needs(run) if one in todo], board)


def computed(run: Run, names: Sequence[str], *packed: bytes) -> bytes:
    """Compute a run in a directory of its own, given those that it needs; return its files."""
    with tempfile.TemporaryDirectory(prefix="farstep-") as folder:
        store = Store(Path(folder))
        for name, data in zip(names, packed, strict=True):
            unpack(data, store.folder / name)
        store.run(run)
        return pack(store.place(run))


def pack(place: Path) -> bytes:
    """Return a run's files as one; what is hidden, as half-written files are, is left out."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", dereference=True) as archive:
        for path in sorted(place.rglob("*")):
            inside = path.relative_to(place)
            if path.is_file() and not any(part.startswith(".") for part in inside.parts):
                archive.add(path, inside)
    return buffer.getvalue()


def unpack(data: bytes, place: Path) -> None:
    """Put a run's files where they belong, each whole or not at all, the record last."""
    with locked(place), tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
        for member in sorted(members, key=lambda one: one.name == RECORD):
            path = place / tarfile.data_filter(member, str(place)).name  # it lies inside, or fails
            file = archive.extractfile(member)
            assert file is not None, f"{member.name} is no file"
            publish(path, {"": file.read()}, force=True)
            remove_parts(path.parent)


def _then(future: Future[bytes], use: Callable[[bytes], None]) -> Future[None]:
    """Return a future that is done when what another gives has been used."""
    following: Future[None] = Future()

    def go_on(done: Future[bytes]) -> None:
        try:
            following.set_result(use(done.result()))
        except BaseException as error:
            following.set_exception(error)

    future.add_done_callback(go_on)
    return following


def _connect(ray: Any, address: str) -> None:
    """Connect to the cluster, in several attempts where it is there but ends the connection.

    The process by which a cluster answers a caller from elsewhere may fail while it starts, and
    most of all on a busy head node.
    """
    _check(address)
    for left in reversed(range(_ATTEMPTS)):
        try:
            ray.init(
                address=address,
                runtime_env={"env_vars": ONE_THREAD},
                log_to_driver=False,
                logging_level="error",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            if isinstance(error, ConnectionAbortedError) and left:
                continue
            said = one_line(error)
            raise FarstepError(f"there is no Ray cluster at {address}: {said}") from error
        return


def _check(address: str) -> None:
    """Fail at once where nobody listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():  # auto, local, or a name that Ray knows
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise FarstepError(f"there is no Ray cluster at {address}: {error}.") from error


def _ray() -> Any:
    require("ray")
    import ray

    return ray
