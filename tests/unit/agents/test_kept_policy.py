"""Which policy of a training is returned: the last, or the one with the best return."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import cart
from farstep.agents import model_env_trainer, trainer
from farstep.agents.agent import Agent
from farstep.agents.config import agent_config
from farstep.agents.learning_curve import AgentCurve
from farstep.agents.model_env_trainer import ModelEnvTrainer
from farstep.agents.networks import Layers
from farstep.agents.train_agent import train_agent
from farstep.data.episodes import Episodes
from farstep.model_env.model_env import ModelEnv
from farstep.systems.network_policy import NetworkPolicy


@pytest.fixture
def env(cart_data: Episodes) -> ModelEnv:
    return ModelEnv(cart.model(), cart.CART, cart_data)


class Returns:
    """Returns given numbers in place of imagined or real returns, and keeps the actors."""

    def __init__(self, *values: float) -> None:
        self.values, self.actors = iter(values), []

    def imagined(self, env: object, actor: Layers, keys: object) -> jax.Array:
        del env, keys
        self.actors.append(jax.tree.map(np.array, actor))
        return jnp.array([next(self.values)])

    def real(self, system: object, policy: NetworkPolicy, *others: object) -> float:
        del system, others
        self.actors.append(policy.layers)
        return next(self.values)

    def assert_is(self, policy: NetworkPolicy, number: int) -> None:
        """Fail unless a policy is the actor of an evaluation, which differs from the others."""
        weights = [actor[0][0] for actor in self.actors]
        same = [np.array_equal(policy.layers[0][0], weight) for weight in weights]
        assert same == [index == number for index in range(len(weights))]


def test_the_best_policy_has_the_highest_real_return(
    env: ModelEnv, monkeypatch: pytest.MonkeyPatch
):
    returns = Returns(1.0, 5.0, 2.0)
    monkeypatch.setattr(trainer, "real_return", returns.real)
    agent = train_agent(env, cart.TINY, eval_episodes=1)
    assert agent.curve.best == 1
    assert agent.curve.column("real_return").tolist() == [1.0, 5.0, 2.0]
    returns.assert_is(agent.best, 1)
    returns.assert_is(agent.policy, 2)


def test_keep_best_returns_the_policy_with_the_highest_imagined_return(
    env: ModelEnv, monkeypatch: pytest.MonkeyPatch, tmp_path
):
    returns = Returns(1.0, 5.0, 2.0)
    monkeypatch.setattr(model_env_trainer, "imagined_returns", returns.imagined)
    agent = train_agent(env, cart.TINY, keep="best", out=tmp_path)
    assert agent.curve.column("imagined_return").tolist() == [1.0, 5.0, 2.0]
    assert agent.curve.of_policy("best")["imagined_return"] == 5.0
    assert agent.curve.of_policy("last")["imagined_return"] == 2.0
    stored = train_agent(env, cart.TINY, keep="best", out=tmp_path)
    for one in (agent, stored):
        returns.assert_is(one.policy, 1)
        assert one.learner is not None
        # Optimisers continue from there too: 5 steps of warm-up, then 2 updates a step.
        assert int(optax.tree.get(one.learner.optimisers[0], "count")) == 30


def test_keep_best_may_return_the_agent_that_training_started_from(
    env: ModelEnv, tiny_agent: Agent, monkeypatch: pytest.MonkeyPatch
):
    returns = Returns(9.0, 1.0, 5.0, 2.0)
    monkeypatch.setattr(model_env_trainer, "imagined_returns", returns.imagined)
    agent = train_agent(env, cart.TINY, seed=1, keep="best", start=tiny_agent)
    assert agent.curve.column("steps").tolist() == [0, 40, 80, 120]
    assert agent.curve.column("imagined_return").tolist() == [9.0, 1.0, 5.0, 2.0]
    cart.same_policy(agent.policy, tiny_agent.policy)


def test_with_a_penalty_the_penalised_return_decides(
    cart_data: Episodes, monkeypatch: pytest.MonkeyPatch
):
    env = ModelEnv(cart.model(), cart.CART, cart_data, uncertainty_penalty=1.0, uncertainty="std")

    def returns(env, actor, keys):
        return jnp.array([2.0 if env.uncertainty_penalty else 3.0])

    monkeypatch.setattr(model_env_trainer, "imagined_returns", returns)
    found = {}
    for keep in ("last", "best"):
        one = ModelEnvTrainer(env, agent_config(cart.TINY, keep=keep), 0)
        one.state = one.initial_state()
        found[keep] = one.imagined_columns()
    assert found["best"] == {"imagined_return": 3.0, "penalised_return": 2.0}
    assert found["last"] == {"imagined_return": 3.0}
    rows = [(1.0, 0.5), (5.0, 0.125), (2.0, 0.25)]
    curve = AgentCurve([{"imagined_return": i, "penalised_return": p} for i, p in rows])
    assert curve.best_imagined == 0
    assert curve.of_policy("best")["imagined_return"] == 1.0


def test_of_equal_returns_the_later_one_is_best():
    curve = AgentCurve([{"real_return": value} for value in (3.0, None, 3.0, 1.0)])
    assert curve.best == 2
    assert not curve.is_last(curve.best)
    assert AgentCurve([{"real_return": None}]).best is None
