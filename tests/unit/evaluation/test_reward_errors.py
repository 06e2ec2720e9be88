"""R² of a learned reward, against sums computed by hand."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.errors import FarstepError
from farstep.evaluation.evaluation import evaluate
from farstep.evaluation.reward_errors import reward_r_squared, with_rewards
from farstep.models.network import NetworkShape
from farstep.models.reward import RewardHead

HORIZON = 5
HEAD = RewardHead.create(jax.random.key(0), 5, NetworkShape(16, 2))


def test_rewards_are_predicted_along_the_models_own_states():
    """The model is exact, so its states are the recorded ones."""
    data = cart.data(2, seed=2)
    before, after = data.transitions()
    steps = [jnp.asarray(one, jnp.float32) for one in (before, data.actions, after)]
    predicted = np.asarray(jax.vmap(HEAD)(*steps)).reshape(2, 20)
    assert data.rewards is not None
    rewards = data.rewards.reshape(2, 20)
    expected = []
    for j in range(HORIZON):  # the reward of step j + 1 of every window
        errors = np.square(rewards - predicted)[:, j:].sum()
        expected.append(1 - errors / np.square(rewards[:, j:] - rewards[:, j:].mean()).sum())
    found = reward_r_squared(cart.linear(), HEAD, data, HORIZON)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    model = dataclasses.replace(cart.model(), reward=HEAD)
    row = evaluate({"cart": model}, data, HORIZON, references=False)["cart"]
    assert row.r2_reward is not None
    np.testing.assert_allclose(row.r2_reward[0], found, rtol=1e-6)


def test_a_column_called_reward_is_no_conflict():
    data = cart.data(2, seed=2)
    names = dataclasses.replace(cart.SIGNALS, observation_names=("position", "reward"))
    found = with_rewards(data.with_signals(names))
    assert found.signals.observation_names[:2] == names.observation_names
    assert len(set(found.signals.observation_names)) == 3
    with pytest.raises(FarstepError, match="rewards"):
        with_rewards(cart.data(2, rewards=False))
