"""Settings at random: they work, or one clear line says why not.

`FARSTEP_EXAMPLES=500` tries that many of each, and others every time.
"""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.cart import CART, data, model
from tests.faults.configurations import changes, few
from tests.pendulum import pendulum

from farstep.errors import FarstepError
from farstep.evaluation.evaluate import score
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import fit
from farstep.imagination.config import ImagineConfig
from farstep.imagination.imagine import imagine

_TINY = {"config": "recommended", "epochs": 1, "width": 3, "depth": 1, "horizon": 2, "batch": 16}


def _one_line(error: FarstepError) -> bool:
    return "\n" not in str(error) and len(str(error)) > 10


@few(8)
@given(changes(FitConfig))
def test_any_settings_of_a_fit(settings: dict[str, Any]):
    try:
        found = fit(pendulum(3, steps=12), pendulum(1, steps=12), **{**_TINY, **settings})
    except FarstepError as error:
        assert _one_line(error)
    else:
        mean, std = found.rollout(np.zeros(2), np.zeros((12, 1)))
        assert mean.shape == std.shape == (12 // settings.get("stride", 1), 2)
        assert np.isfinite(mean).all()


@few(12)
@given(changes(ImagineConfig), st.booleans())
def test_any_settings_of_an_imagination(settings: dict[str, Any], with_data: bool):
    try:
        found = imagine(model(), CART, data() if with_data else None, **settings)
    except FarstepError as error:
        assert _one_line(error)
        return
    env = found.vector_env(2)
    states, _ = env.reset(seed=0)
    states, rewards, *_ = env.step(np.zeros((2, 1), np.float32))
    assert np.isfinite(states).all()
    assert np.isfinite(rewards).all()


@few(10)
@given(
    horizon=st.integers(-1, 25),
    models=st.sampled_from([1, 2, 0]),
    with_train=st.booleans(),
    references=st.booleans(),
    system=st.sampled_from([None, "cartpole-swingup", "nonsense"]),
)
def test_any_arguments_of_a_score(
    horizon: int, models: int, with_train: bool, references: bool, system: str | None
):
    try:
        found = score(
            [model()] * models,
            data(2),
            horizon,
            train=data(2, seed=1) if with_train else None,
            system=system,
            references=references,
        )
    except FarstepError as error:
        assert _one_line(error)
    else:
        assert all(one.r2_dimensions.shape[1] == horizon for one in found.scores)
