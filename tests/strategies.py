"""Random episodes for Hypothesis."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals

_NAMES = st.text("abcxyzθ αβ.,;\"'_-/0123456789", min_size=1, max_size=8).filter(str.strip)


@st.composite
def many_episodes(draw: st.DrawFn) -> Episodes:
    """Episodes of any lengths, dimensions, precision and optional parts."""
    d, k = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    with_rewards, with_clean = draw(st.booleans()), draw(st.booleans())
    finite = st.floats(allow_nan=False, allow_infinity=False, width=32)

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(dtype, shape, elements=finite))

    def episode(steps: int) -> Episode:
        return Episode(
            observations=array(steps + 1, d),
            actions=array(steps, k),
            rewards=array(steps) if with_rewards else None,
            terminated=draw(st.booleans()),
            truncated=draw(st.booleans()),
            clean_observations=array(steps + 1, d) if with_clean else None,
        )

    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    names = draw(st.lists(_NAMES, min_size=d + k, max_size=d + k, unique=True))
    signals = Signals(
        tuple(names[:d]),
        tuple(names[d:]),
        observation_units=tuple(draw(st.sampled_from(["", "m", "°"])) for _ in range(d)),
        interval=draw(st.none() | st.floats(1e-3, 10.0)),
    )
    metadata = draw(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5)))
    system = draw(st.none() | st.just("cartpole-swingup"))
    return Episodes.from_list([episode(steps) for steps in lengths], signals, system, metadata)
