"""Worker processes that are killed, share compiled programs, and work at the same directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cart
from farstep.errors import FarstepError
from farstep.workflows.offline import offline
from farstep.workflows.runs import Store
from farstep.workflows.sweep import sweep
from farstep.workflows.worker_pool import run_all
from square import Square

CACHE = "JAX_COMPILATION_CACHE_DIR"
TESTS = Path(__file__).parents[1]


def test_a_sweep_survives_killed_workers(tmp_path: Path):
    # Two kills in all: three in a row with nothing finished in between would end the sweep.
    runs = [Square(1), Square(2, times_killed=1), Square(3), Square(4, times_killed=1)]
    found = sweep(runs, tmp_path, workers=2)
    assert [found[run]["square"] for run in runs] == [1, 4, 9, 16]
    # It starts again, and once more if another's kill met it before it was marked as finished.
    assert len((Store(tmp_path).directory(runs[1]) / "starts").read_text()) >= 2


def test_a_run_that_always_kills_its_worker_ends_the_sweep(tmp_path: Path):
    runs = [Square(3), Square(2, times_killed=99)]
    with pytest.raises(FarstepError, match=r"3 times in a row.*__main__"):
        sweep(runs, tmp_path, workers=1)
    assert Store(tmp_path).missing(runs) == [runs[1]]


def test_two_processes_that_ask_for_one_run_compute_it_once(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from square import Square;"
        "from farstep.workflows.runs import Store; print(Store(Path(sys.argv[1])).run(Square(7)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) for _ in range(2)
    ]
    printed = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert printed[0] == printed[1] != ""
    assert (Store(tmp_path).directory(Square(7)) / "starts").read_text() == "."


def test_seeds_in_workers_are_those_of_one_process(tmp_path: Path):
    settings = {"fit": {"model": "linear", "ensemble_size": 1}, "system": "cart_env:LOGGED"}
    settings |= {"agent": cart.TINY, "env": "default"}
    done = offline(cart.data(10), out=tmp_path / "both", seeds=2, workers=2, **settings)
    assert [result["seed"] for result in done.results] == [0, 1]
    # Processes of one thread add up in another order: R² agrees, but is not bit-identical.
    alone = offline(cart.data(10), out=tmp_path / "alone", seeds=1, workers=1, **settings)
    assert done.results[0]["r2"] == pytest.approx(alone.results[0]["r2"], abs=1e-5)


def compiled_anew(number: int) -> tuple[str, int]:
    """Compile a program that the process does not know; count how often the cache had it."""
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
    return os.environ[CACHE], len(found)


def compute_threads(number: int) -> list[str]:
    """Return the names of the threads to which XLA hands operations."""
    import jax.numpy as jnp

    jnp.ones(number).sum().block_until_ready()
    names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return [name for name in names if "XLAEigen" in name]


def test_compiled_programs_are_shared_while_the_workers_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(CACHE, raising=False)
    done = run_all([0, 1], compiled_anew, 1)
    (cache, before), (again, after) = done[0], done[1]
    assert cache == again and before == 0 < after
    assert not Path(cache).exists()
    assert CACHE not in os.environ


def test_a_cache_of_the_users_own_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv(CACHE, str(tmp_path))
    assert run_all([0], compiled_anew, 1)[0][0] == str(tmp_path)
    assert os.environ[CACHE] == str(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the threads of a process so")
def test_a_worker_has_one_compute_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PJRT_NPROC", raising=False)
    assert len(run_all([3], compute_threads, 1)[3]) == 1
