"""Workers have one thread each, and for as long as they work what is compiled in common."""

import os
import sys
from pathlib import Path

import pytest

from farstep.runs.pool import run_all

STORE = "JAX_COMPILATION_CACHE_DIR"


def compiled_anew(number: int) -> tuple[str, int]:
    """Compile a program that the process does not know, and count how often the store had it."""
    import jax
    import jax.numpy as jnp
    from jax import monitoring

    found = []
    monitoring.register_event_listener(
        lambda event, **_: found.append(event) if event.endswith("/cache_hits") else None
    )
    jax.clear_caches()
    jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones((3, 3))).block_until_ready()
    del number
    return os.environ[STORE], len(found)


def test_what_one_run_compiles_the_next_one_finds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(STORE, raising=False)
    done = run_all([0, 1], compiled_anew, 1)
    (store, before), (again, after) = done[0], done[1]
    assert store == again and before == 0 < after
    assert not Path(store).exists()
    assert STORE not in os.environ


def test_a_store_of_the_users_own_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv(STORE, str(tmp_path))
    assert run_all([0], compiled_anew, 1)[0][0] == str(tmp_path)
    assert os.environ[STORE] == str(tmp_path)


def compute_threads(number: int) -> list[str]:
    """Return the names of the threads to which XLA hands operations."""
    import jax.numpy as jnp

    jnp.ones(number).sum().block_until_ready()
    names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return [name for name in names if "XLAEigen" in name]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists a process's threads so")
def test_a_worker_has_one_compute_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PJRT_NPROC", raising=False)
    assert len(run_all([3], compute_threads, 1)[3]) == 1
