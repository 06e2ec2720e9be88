"""Which of an agent's policies is kept: the last, or the one that the model thinks best."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, TINY, data, model, same_policy
from farstep.agents import imagined as imagined_module
from farstep.agents.train import train
from farstep.imagination.imagine import Imagination, imagine


@pytest.fixture(scope="module")
def imagined() -> Imagination:
    return imagine(model(), CART, data())


def test_a_real_evaluation_chooses_the_best(imagined: Imagination, monkeypatch):
    returns = iter([1.0, 5.0, 2.0])
    monkeypatch.setattr(imagined_module, "mean_return", lambda *_: next(returns))
    agent = train(imagined, TINY, seed=0, eval_episodes=1)
    assert agent.curve.best == 1
    assert agent.curve.column("real_return").tolist() == [1.0, 5.0, 2.0]
    monkeypatch.undo()
    half = train(imagined, dataclasses.replace(TINY, steps=80), seed=0)
    # The buffer's size is part of the program, but not of what the agent learns in it.
    same_policy(agent.best, half.policy)


@pytest.fixture
def told(monkeypatch) -> list[float]:
    """Imagined returns to be told, in turn, in place of what the policies earn."""
    returns: list[float] = []
    told = iter(returns)
    monkeypatch.setattr(
        imagined_module, "imagined_returns", lambda *_: jnp.array([next(told, 0.0)])
    )
    return returns


def test_the_policy_that_is_kept_has_the_highest_imagined_return(
    imagined: Imagination, told: list[float], tmp_path
):
    told += [1.0, 5.0, 2.0]
    agent = train(imagined, TINY, seed=0, keep="best", out=tmp_path)
    assert agent.curve.column("imagined_return").tolist() == [1.0, 5.0, 2.0]
    half = train(imagined, dataclasses.replace(TINY, steps=80), seed=0)
    same_policy(agent.policy, half.policy)
    read_again = train(imagined, TINY, seed=0, keep="best", out=tmp_path)
    same_policy(read_again.policy, half.policy)
    for kept, last in zip(
        jax.tree.leaves(read_again.learner), jax.tree.leaves(half.learner), strict=True
    ):
        np.testing.assert_array_equal(kept, last)


def test_with_a_penalty_the_policy_is_chosen_by_what_is_left(
    imagined: Imagination, told: list[float], monkeypatch: pytest.MonkeyPatch
):
    careful = dataclasses.replace(
        imagined, world=dataclasses.replace(imagined.world, penalty=1.0, uncertainty_of="std")
    )
    told += [1.0, 5.0, 2.0]
    left = iter([0.5, 0.125, 0.25])
    plain = imagined_module.imagined_returns

    def both(world, *others):
        return jnp.array([next(left)]) if world.penalty else plain(world, *others)

    monkeypatch.setattr(imagined_module, "imagined_returns", both)
    agent = train(careful, TINY, seed=0, keep="best")
    assert agent.curve.column("imagined_return").tolist() == [1.0, 5.0, 2.0]
    assert agent.curve.column("careful_return").tolist() == [0.5, 0.125, 0.25]
    assert agent.curve.of_policy("best")["imagined_return"] == 1.0
    monkeypatch.undo()
    first = train(careful, dataclasses.replace(TINY, steps=40), seed=0)
    assert "careful_return" not in first.curve.last  # nothing is chosen by it
    same_policy(agent.policy, first.policy)


def test_what_it_started_from_may_be_kept(imagined: Imagination, told: list[float]):
    told += [0.0, 0.0, 0.0, 9.0, 1.0, 5.0, 2.0]
    start = train(imagined, TINY, seed=0)
    agent = train(imagined, TINY, seed=1, keep="best", start=start)
    assert agent.curve.column("steps").tolist() == [0, 40, 80, 120]
    assert agent.curve.column("imagined_return").tolist() == [9.0, 1.0, 5.0, 2.0]
    same_policy(agent.policy, start.policy)
