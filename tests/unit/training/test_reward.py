"""A learned reward: fitted by ordinary regression, without the padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.errors import FarstepError
from farstep.models.network import NetworkShape, forward
from farstep.models.reward import KnownReward, RewardHead
from farstep.training.config import FitConfig
from farstep.training.fit import fit
from farstep.training.optimiser import optimiser
from farstep.training.reward import Batches, Pairs, _epoch, _held_out, fit_reward

CONFIG = FitConfig(width=32, depth=2, epochs=40)
SHAPE = NetworkShape(32, 2, "silu", "none", 0.0)


def _steps(seed: int) -> tuple[jax.Array, ...]:
    data = cart.data(seed=seed)
    before, after = data.transitions()
    return tuple(jnp.asarray(part, jnp.float32) for part in (before, data.actions, after))


def test_it_is_near_the_true_reward():
    head = fit_reward(cart.data(20, 50), cart.data(4, seed=1), CONFIG)
    found, true = (
        np.asarray(jax.vmap(one)(*_steps(seed=2))) for one in (head, KnownReward(cart.reward))
    )
    assert np.square(found - true).mean() < 0.05 * true.var()


def test_data_without_rewards_teach_none():
    with pytest.raises(FarstepError, match="rewards"):
        fit(cart.data(rewards=False), learn_reward=True, model="linear")
    with pytest.raises(FarstepError, match="fixed_horizon"):
        fit(cart.data(), learn_reward=True, fixed_horizon=2, horizon=1)


def test_more_transitions_compile_nothing_again():
    config = FitConfig(width=8, depth=1, batch_size=16, epochs=2)
    compiled = []
    for episodes in (5, 6):  # 100 and 120 transitions: both are padded to 128
        fit_reward(cart.data(episodes), cart.data(episodes, seed=1), config)
        compiled.append([program._cache_size() for program in (_epoch, _held_out)])  # pyright: ignore[reportAttributeAccessIssue]
    assert compiled[0] == compiled[1]


def test_the_held_out_error_is_of_the_pairs_alone():
    head = RewardHead.create(jax.random.key(0), 5, SHAPE)
    pairs = Pairs.of(np.full((3, 5), 7.0), np.arange(3.0))
    assert len(pairs.y) > 3
    x = jnp.asarray(np.full((3, 5), 7.0), jnp.float32)
    predicted = np.asarray(forward(head.network, head.statistics, x, SHAPE))[:, 0]
    expected = float(np.square(predicted - np.arange(3.0)).mean())
    assert float(_held_out(head.network, head, pairs)) == pytest.approx(expected, rel=1e-5)


def test_nothing_is_learned_from_the_padding():
    """Three pairs are padded to 64: if the others, at zero, were trained on, they would win."""
    head = RewardHead.create(jax.random.key(0), 5, SHAPE)
    pairs, adam = Pairs.of(np.zeros((3, 5)), np.full(3, 5.0)), optimiser(0.02)
    trained = (head.network, adam.init(head.network))  # pyright: ignore[reportArgumentType]
    for epoch in range(60):
        drawn = jax.random.bits(jax.random.key(epoch), pairs.x.shape[:1])
        batches = Batches(drawn, *(jnp.asarray(np.int32(n)) for n in (1, epoch)))
        trained = _epoch(trained, head, pairs, batches, 3, adam, None)
    assert float(_held_out(trained[0], head, pairs)) < 0.5
