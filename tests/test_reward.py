"""A learned reward: fitted, stored, imagined with, and scored like a state dimension."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, data, linear, reward
from farstep.dynamics.network import NetworkShape, evaluate
from farstep.dynamics.reward import RewardHead
from farstep.errors import FarstepError
from farstep.evaluation.evaluate import score
from farstep.fitting.config import FitConfig
from farstep.fitting.fit import fit
from farstep.fitting.optimiser import optimiser
from farstep.fitting.reward import Batches, Pairs, _epoch, _held_out, fit_reward
from farstep.imagination.imagine import imagine
from farstep.model import load_model
from farstep.scoring.rewards import Rewarded, with_rewards

SETTINGS = {
    "model": "linear", "width": 32, "depth": 2, "activation": "silu", "epochs": 80,
}  # fmt: skip


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reward")
    seen = data(episodes=20, steps=50)
    return fit(
        seen, data(episodes=4, seed=1), learn_reward=True, out=folder / "m", **SETTINGS
    ), folder


def test_it_is_near_the_true_reward(learned):
    model, _ = learned
    unseen = data(seed=2)
    states = jnp.asarray(unseen.transitions()[0], jnp.float32)
    actions = jnp.asarray(unseen.actions, jnp.float32)
    after = jax.vmap(linear().predict)(states, actions).mean
    found = np.asarray(jax.vmap(model.reward)(states, actions, after))
    true = np.asarray(jax.vmap(reward)(states, actions, after))
    assert np.square(found - true).mean() < 0.05 * true.var()


def test_it_is_stored_with_the_model(learned):
    model, folder = learned
    read = load_model(folder / "m")
    assert read.reward is not None
    given = jnp.ones(2), jnp.ones(1), jnp.ones(2)
    assert float(read.reward(*given)) == float(model.reward(*given))
    plain = fit(data(), model="linear")
    assert plain.reward is None
    assert load_model(plain.save(folder / "plain.safetensors")).reward is None


def test_it_is_imagined_with(learned):
    model, _ = learned
    unknown = dataclasses.replace(CART, reward=None)
    state, action, after = jnp.array([1.0, 0.0]), jnp.zeros(1), jnp.array([0.5, 0.0])
    for imagined in (
        imagine(model, unknown, data()),
        imagine(model, CART, data(), reward="learned"),
    ):
        found = float(imagined.world.reward(state, action, after))
        assert found == float(model.reward(state, action, after))
    known = imagine(model, CART, data())
    assert float(known.world.reward(state, action, after)) == pytest.approx(-0.25)


def test_it_is_scored_like_a_state_dimension(learned):
    model, _ = learned
    test = data(episodes=5, steps=50, seed=3)
    evaluation = score(model, test, horizon=10)
    scored = next(one for one in evaluation.scores if one.kind == "model")
    assert scored.r2_reward is not None and scored.r2_reward.shape == (1, 10)
    # By hand, one step ahead.
    assert test.rewards is not None
    before = np.delete(test.states, test.row_offsets[1:] - 1, axis=0).astype(np.float32)
    mean, _ = model.predict(before, test.actions)
    given = (jnp.asarray(part, jnp.float32) for part in (before, test.actions, mean))
    predicted = np.asarray(jax.vmap(model.reward)(*given))
    error = (
        np.square(predicted - test.rewards).sum()
        / np.square(test.rewards - test.rewards.mean()).sum()
    )
    assert scored.r2_reward[0, 0] == pytest.approx(1 - error, abs=1e-4)
    assert scored.r2_reward[0, 0] > 0.9
    assert scored.to_json()["r2_reward"] is not None


def test_a_composition_with_its_reward(learned):
    model, _ = learned
    joined = Rewarded(dynamics=model.dynamics, head=model.reward)
    state, action = jnp.array([1.0, 0.5, 99.0]), jnp.array([0.3])
    predicted = joined.predict(state, action)
    plain = model.dynamics.predict(state[:2], action)
    np.testing.assert_array_equal(predicted.mean[:2], plain.mean)
    expected = float(model.reward(state[:2], action, plain.mean))
    assert float(predicted.mean[2]) == pytest.approx(expected)


def test_rewards_beside_the_states():
    seen = data(episodes=2, steps=3)
    joined = with_rewards(seen)
    assert seen.rewards is not None
    assert joined.signals.state_names[-1] == "reward"
    np.testing.assert_allclose(joined.states[[1, 2, 3], -1], seen.rewards[:3])
    assert joined.states[0, -1] == joined.states[4, -1] == 0.0


def test_data_without_rewards_teach_none():
    with pytest.raises(FarstepError, match="the data have no rewards"):
        fit(data(rewards=False), learn_reward=True, **SETTINGS)
    with pytest.raises(FarstepError, match="no rewards"):
        with_rewards(data(rewards=False))


def test_more_transitions_compile_nothing_anew():
    config = FitConfig(width=8, depth=1, batch=16, epochs=2)
    programs = (_epoch, _held_out)
    compiled = []
    for episodes in (5, 6):  # 100 and 120 steps: both have room for 128
        fit_reward(data(episodes=episodes, steps=20), data(episodes=episodes, seed=1), config)
        compiled.append([program._cache_size() for program in programs])  # pyright: ignore[reportAttributeAccessIssue]
    assert compiled[0] == compiled[1]


def test_only_what_is_there_counts():
    seen, held = data(episodes=3, steps=20), data(episodes=2, steps=20, seed=1)
    head = fit_reward(seen, held, FitConfig(width=8, depth=1, batch=16, epochs=1))
    pairs = Pairs.of(np.full((3, 5), 7.0), np.arange(3.0))
    found = float(_held_out(head.network, head, pairs))
    said = evaluate(head.network, head.statistics, jnp.full((3, 5), 7.0), head.shape)[:, 0]
    assert found == pytest.approx(float(np.square(np.asarray(said) - np.arange(3.0)).mean()))
    assert len(pairs.y) > 3


def test_nothing_is_learned_from_the_room():
    """Three pairs in room for 64: were the others, at zero, trained on, they would win."""
    head = RewardHead.create(jax.random.key(0), 2, NetworkShape(8, 1, "tanh", "none", 0.0))
    pairs, adam = Pairs.of(np.zeros((3, 2)), np.full(3, 5.0)), optimiser(0.1)
    trained = (head.network, adam.init(head.network))  # pyright: ignore[reportArgumentType]
    for epoch in range(60):
        drawn = jax.random.bits(jax.random.key(epoch), pairs.x.shape[:1])
        batches = Batches(drawn, jnp.array(1, jnp.int32), jnp.array(epoch, jnp.int32))
        trained = _epoch(trained, head, pairs, batches, 3, adam, None)
    assert float(_held_out(trained[0], head, pairs)) < 0.5
