"""Compiled programs are dropped when they are many, and arrays that grow keep their sizes."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.errors import FarstepError
from farstep.runtime import compilation


def test_programs_are_dropped_when_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    doubled, one = jax.jit(lambda x: 2 * x), jnp.asarray(np.float32(1))
    maps = tmp_path / "maps"
    monkeypatch.setattr(compilation, "_MAPS", maps)
    monkeypatch.setattr(compilation, "_MANY", 7)
    monkeypatch.setattr(compilation, "_MORE", 2)
    monkeypatch.setattr(compilation, "_last", {})
    clear = doubled.clear_cache  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(jax, "clear_caches", clear)  # spares the programs of other tests
    # Two more than at the first look are kept; above 7 there are too many; None: not known.
    for lines, kept in ((3, 1), (5, 1), (6, 0), (7, 1), (8, 0), (None, 0)):
        maps.unlink(missing_ok=True)
        if lines is not None:
            maps.write_text("a piece of memory\n" * lines)
        assert float(doubled(one)) == 2.0
        compilation.drop_programs_if_many()
        assert doubled._cache_size() == kept  # pyright: ignore[reportAttributeAccessIssue]


def test_arrays_that_grow_have_room():
    counts = {0: 64, 1: 64, 64: 64, 65: 128, 1000: 1024, 1024: 1024}
    large = 1 << 17  # above it, at most an eighth of the next power of two is padding
    counts |= {large: large, large + 1: large * 5 // 4}
    assert {count: compilation.room_for(count) for count in counts} == counts


def test_float64_is_refused():
    with jax.enable_x64(True), pytest.raises(FarstepError, match="float64"):
        compilation.check_precision()
