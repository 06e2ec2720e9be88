"""Compiled programs, which a process keeps until they are too many."""

from pathlib import Path

_MANY = 20_000
"""Pieces of memory: Linux lets a process map 65 530, and every program takes some hundreds."""
_MAPS = Path("/proc/self/maps")


def drop_programs_if_many() -> None:
    """Drop all compiled programs once they are many, or where that is not known.

    A loop whose data grow compiles anew in every epoch, and would end with "Cannot allocate
    memory" after some thirty.
    """
    import jax

    if not _MAPS.exists() or _MAPS.read_bytes().count(b"\n") > _MANY:
        jax.clear_caches()
