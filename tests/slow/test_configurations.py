"""Random settings: they work, or an error of one line says why not.

`FARSTEP_EXAMPLES=500` tries that many of each, and others every time.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cart
from farstep.agents.config import AgentConfig
from farstep.agents.train_agent import train_agent
from farstep.errors import FarstepError
from farstep.evaluation.evaluation import evaluate
from farstep.model_env.config import ModelEnvConfig
from farstep.model_env.model_env import ModelEnv
from farstep.training.config import FitConfig
from farstep.training.fit import fit
from tests.slow.configurations import changes, few

pytestmark = pytest.mark.filterwarnings("ignore::farstep.errors.DataWarning")


def _is_one_line(error: FarstepError) -> bool:
    return "\n" not in str(error) and len(str(error)) > 10


@few(8)
@given(changes(FitConfig))
def test_any_settings_of_a_fit(settings: dict[str, Any]):
    tiny = {**cart.TINY_FIT, "epochs": 1, "width": 3, "depth": 1}
    try:
        found = fit(cart.data(3), cart.data(1, seed=1), {**tiny, **settings})
    except FarstepError as error:
        assert _is_one_line(error)
    else:
        mean, std = found.rollout(np.zeros(2), np.zeros((12, 1)))
        assert mean.shape == std.shape == (12 // settings.get("fixed_horizon", 1), 2)
        assert np.isfinite(mean).all()


@few(12)
@given(changes(ModelEnvConfig), st.booleans())
def test_any_settings_of_a_model_environment(settings: dict[str, Any], with_data: bool):
    try:
        found = ModelEnv(cart.model(), cart.CART, cart.data() if with_data else None, settings)
    except FarstepError as error:
        assert _is_one_line(error)
        return
    env = found.vector(2)
    observations, _ = env.reset(seed=0)
    observations, rewards, *_ = env.step(np.zeros((2, 1), np.float32))
    assert np.isfinite(observations).all()
    assert np.isfinite(rewards).all()


@few(6)
@given(changes(AgentConfig))
def test_any_settings_of_an_agent(settings: dict[str, Any]):
    tiny = {**vars(cart.TINY), "steps": 60, "net_arch": (4,), "eval_every": 60}
    try:
        config = AgentConfig(**{**tiny, **settings})
        found = train_agent(ModelEnv(cart.model(), cart.CART, cart.data()), config)
    except FarstepError as error:
        assert _is_one_line(error)
    else:
        actions = found.policy.predict(np.zeros((3, 2), np.float32))
        assert ((actions >= -2) & (actions <= 1)).all()
        assert (found.curve.last["steps"] or 0) >= config.steps


@few(10)
@given(
    horizon=st.integers(-1, 25),
    models=st.sampled_from([1, 2, 0]),
    with_train=st.booleans(),
    references=st.booleans(),
    system=st.sampled_from([None, "cartpole-swingup", "nonsense"]),
)
def test_any_arguments_of_an_evaluation(
    horizon: int, models: int, with_train: bool, references: bool, system: str | None
):
    try:
        found = evaluate(
            [cart.model()] * models,
            cart.data(2),
            horizon,
            train=cart.data(2, seed=1) if with_train else None,
            system=system,
            references=references,
        )
    except FarstepError as error:
        assert _is_one_line(error)
    else:
        assert all(one.r2_dimensions.shape[1] == horizon for one in found.models)
