"""Settings at random, good and bad, for every field there is."""

import dataclasses
import math
import os
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from farstep.fitting.config import FitConfig
from farstep.imagination.config import ImagineConfig

_FLOATS = st.sampled_from([0.0, 1e-6, 0.1, 0.5, 0.9, 1.0, 2.0, 1e30, -1.0, math.inf, math.nan])
_INTS = st.sampled_from([1, 1, 2, 2, 3, 4, 0, -1])
_WORDS = st.sampled_from(["nonsense", ""])
_OWN: dict[str, st.SearchStrategy[Any]] = {
    "weights": st.sampled_from(
        [
            *("auto", "uniform", "decay:0.5", "decay:0", "decay:x", "proportional", "learned"),
            *("learned:0.1", "explicit:0.3,0.7", "explicit:-1,2", "explicit:", "nonsense"),
        ]
    ),
    "gradient": st.sampled_from(["full", "truncated:1", "truncated:2", "truncated:0", "cut"]),
    "angles": st.sampled_from([(), ((0, 1),), ((1, 1),), ((0, 7),), ((0, -1),)]),
    "compositions": st.sampled_from([1, 20, 40, 0]),
    "batch": st.sampled_from([1, 2, 7, 64, 0]),
    "r2_horizon": st.sampled_from([1, 5, 50, 0]),
    "seed": st.sampled_from([0, 1, 2**31 - 1, 2**31, -1]),
    "rollout": st.sampled_from([None, 1, 5, 10**6, 0, -1]),
}
"""Of fields whose type does not say what they take."""


def _of(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if name in _OWN:
        return _OWN[name]
    if get_origin(hint) is Literal:
        return st.sampled_from([*get_args(hint), *get_args(hint)]) | _WORDS
    if get_args(hint):
        return st.one_of([_of("", part) for part in get_args(hint)])
    kinds = {int: _INTS, float: _FLOATS, bool: st.booleans(), type(None): st.none()}
    return kinds[hint]


def changes(config: type[FitConfig] | type[ImagineConfig]) -> st.SearchStrategy[dict[str, Any]]:
    """Return changes of one to four fields, chosen from all."""
    hints = get_type_hints(config)
    names = [field.name for field in dataclasses.fields(config)]
    some = st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)
    return some.flatmap(
        lambda chosen: st.fixed_dictionaries({name: _of(name, hints[name]) for name in chosen})
    )


def few(usual: int) -> settings:
    """Return Hypothesis's settings: so many examples, or what FARSTEP_EXAMPLES says."""
    asked = os.environ.get("FARSTEP_EXAMPLES")
    return settings(
        max_examples=int(asked or usual),
        derandomize=asked is None,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
