"""Runs as tasks on a Ray cluster; results come back into the caller's directory."""

import io
import socket
import tarfile
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from farstep.errors import FarstepError, one_line
from farstep.runtime.machine import require
from farstep.storage.files import locked, publish, remove_parts
from farstep.storage.run_directory import RESULT_FILE
from farstep.workflows.runs import Run, Store
from farstep.workflows.worker_display import WorkerDisplay
from farstep.workflows.worker_pool import ONE_THREAD, follow

_MAX_RETRIES = 5
"""How often a task is started again after its node was lost."""
_MAX_CONNECTIONS = 5
"""How often to connect to a cluster that aborts the connection."""
_LOCK = ".sweep"
"""Locked by a sweep on a cluster, so that two of them compute nothing twice."""


def run_all_on_ray(
    runs: Sequence[Run],
    store: Store,
    address: str,
    needs: Callable[[Run], Collection[Run]],
) -> None:
    """Compute every run on a cluster and copy its directory into the store.

    Every node needs this version of Farstep, and datasets that are files at the same path.
    """
    require("ray")
    import ray
    import ray.exceptions

    _connect(ray, address)
    try:
        with locked(store.folder / _LOCK):
            _run_all(ray, store.missing(runs), store, needs)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, FarstepError):  # raised by the run, as on this machine
            raise FarstepError(str(error.cause)) from error
        raise
    except ray.exceptions.RayError as error:
        raise FarstepError(
            f"the Ray cluster failed: {one_line(error)} Finished results are kept."
        ) from error
    finally:
        ray.shutdown()


def _run_all(
    ray: Any, runs: Sequence[Run], store: Store, needs: Callable[[Run], Collection[Run]]
) -> None:
    remote = ray.remote(max_retries=_MAX_RETRIES, num_cpus=1)(computed)
    packed: dict[Run, Any] = {}
    todo = set(runs)

    def submit(run: Run) -> Future[None]:
        for one in run.needs:
            if one not in packed and store.result(one) is not None:
                packed[one] = ray.put(pack(store.directory(one)))
        files = {store.directory(one).name: packed[one] for one in run.needs if one in packed}
        task = remote.remote(run, store.directory(run).name, list(files), *files.values())
        return _then(task.future(), lambda data: unpack(data, store.directory(run)))

    with WorkerDisplay(len(runs)) as display:
        waiting = dict.fromkeys(runs)
        follow(waiting, {}, submit, lambda run: [one for one in needs(run) if one in todo], display)


def computed(run: Run, name: str, needed: Sequence[str], *packed: bytes) -> bytes:
    """Compute a run on a node, given the directories of runs that it needs; return its files.

    Args:
        run: The run.
        name: Its directory's name on the caller's machine, which depends on the data.
        needed: Names of the directories of runs that it needs.
        *packed: Their files.
    """
    with tempfile.TemporaryDirectory(prefix="farstep-") as folder:
        store = Store(Path(folder))
        if store.directory(run).name != name:
            raise FarstepError(
                f"{', '.join(run.reads)} has other data on a node than here; copy it to all nodes."
            )
        for directory, data in zip(needed, packed, strict=True):
            unpack(data, store.folder / directory)
        store.run(run)
        return pack(store.directory(run))


def pack(directory: Path) -> bytes:
    """Return a run's files as one archive, without hidden files such as half-written ones."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", dereference=True) as archive:
        for path in sorted(directory.rglob("*")):
            inside = path.relative_to(directory)
            if path.is_file() and not any(part.startswith(".") for part in inside.parts):
                archive.add(path, inside)
    return buffer.getvalue()


def unpack(data: bytes, directory: Path) -> None:
    """Write a run's files, each atomically and its result last."""
    with locked(directory), tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name == RESULT_FILE):
            # The filter refuses paths outside the directory.
            path = directory / tarfile.data_filter(member, str(directory)).name
            file = archive.extractfile(member)
            assert file is not None, f"{member.name} is no file"
            publish(path, {"": file.read()}, force=True)
            remove_parts(path.parent)


def _then(future: Future[bytes], use: Callable[[bytes], None]) -> Future[None]:
    """Return a future that is done when `use` has handled another future's result."""
    following: Future[None] = Future()

    def handle(done: Future[bytes]) -> None:
        try:
            following.set_result(use(done.result()))
        except BaseException as error:
            following.set_exception(error)

    future.add_done_callback(handle)
    return following


def _connect(ray: Any, address: str) -> None:
    """Connect to a cluster, in several attempts if it aborts the connection.

    On a busy head node, the process that serves remote callers may fail to start in time.
    """
    _check_listening(address)
    for left in reversed(range(_MAX_CONNECTIONS)):
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
            raise FarstepError(
                f"there is no Ray cluster at {address}: {one_line(error)}"
            ) from error
        return


def _check_listening(address: str) -> None:
    """Fail at once if nothing listens at a host and port; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():  # auto, local, or a name that Ray knows
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise FarstepError(f"there is no Ray cluster at {address}: {error}.") from error
