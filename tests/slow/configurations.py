"""Random settings of the right type, good and bad, for every field of a configuration."""

import dataclasses
import math
import os
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from farstep.agents.config import AgentConfig
from farstep.model_env.config import ModelEnvConfig
from farstep.training.config import FitConfig

_FLOATS = st.sampled_from([0.0, 1e-6, 0.1, 0.5, 0.9, 1.0, 2.0, 1e30, -1.0, math.inf, math.nan])
_INTS = st.sampled_from([1, 1, 2, 2, 3, 4, 0, -1])
_OWN: dict[str, st.SearchStrategy[Any]] = {
    "weights": st.sampled_from(
        [
            *("auto", "uniform", "decay:0.5", "decay:0", "decay:x", "proportional", "learned"),
            *("learned:0.1", "explicit:0.3,0.7", "explicit:-1,2", "explicit:", "nonsense"),
        ]
    ),
    "truncate_gradient": st.sampled_from([None, 1, 2, 0, -1]),
    "angles": st.sampled_from([(), ((0, 1),), ((1, 1),), ((0, 7),), ((0, -1),)]),
    "model_steps": st.sampled_from([1, 20, 40, 0]),
    "batch_size": st.sampled_from([1, 2, 7, 64, 0]),
    "r2_horizon": st.sampled_from([1, 5, 50, 0]),
    "seed": st.sampled_from([0, 1, 2**31 - 1, 2**31, -1]),
    "max_episode_steps": st.sampled_from([None, 1, 5, 10**6, 0, -1]),
    "algorithm": st.sampled_from(["sac", "nonsense"]),
    "steps": st.sampled_from([2, 30, 60, 1, 0]),
    "buffer_size": st.sampled_from([1, 40, 10_000, 0]),
    "net_arch": st.sampled_from([(4,), (4, 4), (), (0,)]),
    "eval_every": st.sampled_from([1, 20, 100, 0]),
    "eval_episodes": st.just(0),
}
"""Of fields whose type does not say which values they take."""


def _values(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if name in _OWN:
        return _OWN[name]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_args(hint):
        return st.one_of([_values("", part) for part in get_args(hint)])
    kinds = {int: _INTS, float: _FLOATS, bool: st.booleans(), type(None): st.none()}
    return kinds[hint]


def changes(
    config: type[FitConfig] | type[ModelEnvConfig] | type[AgentConfig],
) -> st.SearchStrategy[dict[str, Any]]:
    """Return changes of one to four fields, chosen from all."""
    hints = get_type_hints(config)
    names = [field.name for field in dataclasses.fields(config)]
    some = st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)
    return some.flatmap(
        lambda chosen: st.fixed_dictionaries({name: _values(name, hints[name]) for name in chosen})
    )


def few(usual: int) -> settings:
    """Return Hypothesis's settings: this many examples, or as FARSTEP_EXAMPLES says."""
    asked = os.environ.get("FARSTEP_EXAMPLES")
    return settings(
        max_examples=int(asked or usual),
        derandomize=asked is None,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
