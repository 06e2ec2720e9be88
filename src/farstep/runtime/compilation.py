"""Compiled programs: when arrays that grow need new ones, and how long a process keeps them."""

from pathlib import Path

from farstep.errors import FarstepError

_MANY = 20_000
"""Memory maps: Linux allows a process 65 530, and every program takes some hundreds."""
_MORE = 8_000
"""New memory maps since the last drop: about half a gigabyte, worth compiling again once in many
epochs."""
_MAPS = Path("/proc/self/maps")
_LARGE = 1 << 17
"""Larger arrays grow in eighths, since doubling them would waste memory."""
_LEAST_ROOM = 64
"""Gives small arrays, such as the first observations of episodes, one common size."""
_last: dict[str, int] = {}
"""Memory maps at the first call, or after programs were dropped."""


def check_precision() -> None:
    """Fail if JAX is set to float64; Farstep computes in float32."""
    import jax

    if jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise FarstepError(
            "JAX is set to float64 (JAX_ENABLE_X64, jax_enable_x64); Farstep computes in float32: "
            "switch it off."
        )


def room_for(count: int) -> int:
    """Return a size for an array that grows: a power of two, or eighths of it if it is large.

    A program is compiled for the sizes of its arrays. With room in all of them it is compiled
    again when the data of a loop double, not after every episode.
    """
    power = max(_LEAST_ROOM, 1 << (count - 1).bit_length())
    step = power if power <= _LARGE else power // 8
    return max(-(-count // step), 1) * step


def drop_programs_if_many() -> None:
    """Drop all compiled programs once they are many, or if their number is unknown.

    Programs that depend on the number of windows are compiled for each number. Without this, a
    loop whose data grow would end with "Cannot allocate memory" after many epochs.
    """
    import jax

    now = _pieces()
    if now is None or now > _MANY or now > _last.setdefault("pieces", now) + _MORE:
        jax.clear_caches()
        _last["pieces"] = _pieces() or 0


def _pieces() -> int | None:
    """Return the number of memory maps of this process; None where it is unknown."""
    return _MAPS.read_bytes().count(b"\n") if _MAPS.exists() else None
