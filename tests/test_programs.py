"""Compiled programs are dropped when they are many, and only then."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from farstep import programs


def test_programs_are_dropped_when_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    doubled = jax.jit(lambda x: 2 * x)
    maps = tmp_path / "maps"
    monkeypatch.setattr(programs, "_MAPS", maps)
    monkeypatch.setattr(programs, "_MANY", 7)
    monkeypatch.setattr(programs, "_MORE", 2)
    monkeypatch.setattr(programs, "_last", {})
    # Two more than at the first look are kept; then from 6 on; above 7 there are too many.
    for lines, kept in ((3, 1), (5, 1), (6, 0), (7, 1), (8, 0), (None, 0)):
        maps.unlink(missing_ok=True)
        if lines is not None:
            maps.write_text("a piece of memory\n" * lines)
        assert float(doubled(jnp.ones(()))) == 2.0
        programs.drop_programs_if_many()
        assert doubled._cache_size() == kept  # pyright: ignore[reportAttributeAccessIssue]
    assert float(doubled(jnp.ones(()))) == 2.0


def test_arrays_that_grow_have_room():
    assert [programs.room_for(count) for count in (0, 1, 64, 65, 1000, 1024)] == [
        *(64, 64, 64, 128, 1024, 1024)
    ]
    large = 1 << 17  # beyond it at most a quarter more than is needed
    assert [programs.room_for(count) for count in (large, large + 1)] == [large, large * 5 // 4]
