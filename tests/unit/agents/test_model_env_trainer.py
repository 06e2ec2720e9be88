"""Training in a model: agents learn, resume bit-identically, and compile once."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import cart
from farstep.agents import model_env_trainer
from farstep.agents.agent import Agent, agent_directory
from farstep.agents.learning_curve import AgentCurve
from farstep.agents.model_env_trainer import ModelEnvTrainer, train_steps
from farstep.agents.real_return import imagined_returns
from farstep.agents.sac import Learner
from farstep.agents.train_agent import train_agent
from farstep.agents.trainer import SACTrainer
from farstep.data.episodes import Episodes
from farstep.errors import DataWarning, DivergedError, FarstepError
from farstep.model_env.model_env import ModelEnv
from farstep.storage.run_directory import RunDirectory
from farstep.systems.network_policy import load_policy

AVERAGED = dataclasses.replace(cart.TINY, ema_decay=0.9, keep="best")


@pytest.fixture(scope="module")
def env(cart_data: Episodes) -> ModelEnv:
    return ModelEnv(cart.model(), cart.CART, cart_data)


@pytest.fixture(scope="module")
def averaged(env: ModelEnv) -> Agent:
    return train_agent(env, AVERAGED)


def learner_of(agent: Agent) -> Learner:
    assert agent.learner is not None
    return agent.learner


def assert_equal(one: Any, other: Any) -> None:
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def numbers(curve: AgentCurve) -> list[dict[str, float | None]]:
    return [{n: v for n, v in row.items() if "seconds" not in n} for row in curve.rows]


def test_an_agent_learns_to_bring_the_cart_home():
    env = ModelEnv(cart.model(), cart.CART, bounds=None)
    config = dataclasses.replace(
        cart.TINY, steps=4000, learning_rate=3e-3, eval_every=4000, gamma=0.95
    )
    agent = train_agent(env, config)
    untrained = ModelEnvTrainer(env, config, seed=0).initial_state().learner.unscaled
    keys = jax.random.split(jax.random.key(0), 8)
    before = float(imagined_returns(env.evaluation_env, untrained, keys).mean())
    after = agent.curve.last["imagined_return"]
    # Doing nothing costs 1 a step: −20.
    assert after is not None and after > -14 and after > before + 1


def test_the_returns_of_an_agent_are_those_of_its_policy(tiny_agent: Agent):
    assert tiny_agent.imagined_return == tiny_agent.curve.last["imagined_return"]
    record = {**tiny_agent.policy.record, "agent": {"keep": "best"}}
    policy = dataclasses.replace(tiny_agent.policy, record=record)
    best = dataclasses.replace(tiny_agent, policy=policy)
    returns = tiny_agent.curve.column("imagined_return")
    assert best.imagined_return == returns.max()
    assert best.real_return is None


def test_the_curve_counts_steps_and_updates(tiny_agent: Agent):
    curve = tiny_agent.curve
    assert curve.column("steps").tolist() == [40, 80, 120]
    # The warm-up is a seventh of 120 steps: 5 steps of 4 environments. Then 2 updates each.
    assert curve.column("updates").tolist() == [10, 30, 50]
    assert np.isfinite(curve.column("data_distance")).all()
    assert curve.best is None
    cart.same_policy(tiny_agent.policy, tiny_agent.best)


def test_trainings_share_their_compiled_programs(env: ModelEnv, tiny_agent: Agent):
    count = train_steps._cache_size  # pyright: ignore[reportAttributeAccessIssue]
    before = count()
    other = train_agent(env, cart.TINY, seed=1, keep="best", eval_every=60)
    assert count() == before
    assert other.curve.column("steps").tolist() == [60, 120]
    assert not np.array_equal(other.policy.layers[0][0], tiny_agent.policy.layers[0][0])


def test_an_agent_that_continues_acts_in_its_warm_up(
    env: ModelEnv, tiny_agent: Agent, monkeypatch: pytest.MonkeyPatch
):
    phases = []

    def watched(*arguments):
        phases.append(arguments[-2:])
        return train_steps(*arguments)

    monkeypatch.setattr(model_env_trainer, "train_steps", watched)
    train_agent(env, cart.TINY)
    assert list(dict.fromkeys(phases)) == [(False, False), (True, True)]  # acts, learns
    phases.clear()
    train_agent(env, cart.TINY, seed=1, start=tiny_agent)
    assert list(dict.fromkeys(phases)) == [(True, False), (True, True)]


def test_the_averaged_actor_is_evaluated_and_returned(
    env: ModelEnv, tiny_agent: Agent, averaged: Agent, monkeypatch: pytest.MonkeyPatch
):
    evaluated = []

    def watched(*arguments):
        evaluated.append(jax.tree.map(np.array, arguments[1]))
        return jnp.array([float(len(evaluated))])

    monkeypatch.setattr(model_env_trainer, "imagined_returns", watched)
    last = train_agent(env, AVERAGED)
    # The average changes neither actions nor updates.
    assert_equal(learner_of(last).actor, learner_of(tiny_agent).actor)
    assert_equal(evaluated[-1], learner_of(last).averaged)
    (weight, _), *_ = last.policy.layers
    np.testing.assert_array_equal(weight, learner_of(last).evaluated[0].weight)
    assert not np.array_equal(weight, learner_of(last).actor[0].weight)
    assert [len(bias) for _, bias in averaged.policy.layers] == [16, 16, 2]


def test_a_start_gives_its_evaluated_actor_and_a_new_temperature_if_it_has_none(
    env: ModelEnv, tiny_agent: Agent, averaged: Agent
):
    for start in (tiny_agent, averaged):
        learner = learner_of(start)
        new = ModelEnvTrainer(env, AVERAGED, 1, learner).initial_state().learner
        assert_equal(new.averaged, learner.evaluated)
        assert_equal(new.actor, learner.actor)
        assert float(new.log_temperature) == float(learner.log_temperature)
        assert ModelEnvTrainer(env, cart.TINY, 1, learner).initial_state().learner.averaged is None
    cold = learner_of(tiny_agent)._replace(log_temperature=jnp.array(-jnp.inf))
    new = ModelEnvTrainer(env, cart.TINY, 1, cold).initial_state().learner
    assert float(new.log_temperature) == 0.0


def test_a_killed_training_ends_as_if_it_had_not_been(
    env: ModelEnv, averaged: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    saved = []

    save = SACTrainer.save

    def killed(trainer: SACTrainer, run: RunDirectory) -> None:
        save(trainer, run)
        saved.append(trainer.steps)
        raise KeyboardInterrupt

    for _ in range(2):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(SACTrainer, "save", killed)
            train_agent(env, AVERAGED, out=tmp_path)
    assert len(list(tmp_path.glob("*.checkpoint.safetensors"))) == 1
    resumed = train_agent(env, AVERAGED, out=tmp_path)
    assert saved == [40, 80]
    cart.same_policy(resumed.policy, averaged.policy)
    cart.same_policy(resumed.best, averaged.best)
    assert_equal(resumed.learner, averaged.learner)
    assert numbers(resumed.curve) == numbers(averaged.curve)
    assert not list(tmp_path.glob("*.checkpoint.safetensors"))


def test_a_finished_agent_is_read_and_another_refused(
    env: ModelEnv, tiny_agent: Agent, tmp_path: Path
):
    first = train_agent(env, cart.TINY, out=tmp_path)
    cart.same_policy(first.policy, tiny_agent.policy)
    written = (tmp_path / "policy.safetensors").stat().st_mtime_ns
    again = train_agent(env, cart.TINY, out=tmp_path)
    cart.same_policy(first.policy, again.policy)
    assert_equal(first.learner, again.learner)
    assert again.curve.rows == first.curve.rows
    assert (tmp_path / "policy.safetensors").stat().st_mtime_ns == written
    changes: list[dict[str, Any]] = [{"seed": 1}, {"gamma": 0.5}, {"start": tiny_agent}]
    for changed in changes:
        with pytest.raises(FarstepError, match="force"):
            train_agent(env, cart.TINY, **changed, out=tmp_path)
    other = train_agent(env, cart.TINY, seed=1, out=tmp_path, force=True)
    assert not np.array_equal(other.policy.layers[0][0], first.policy.layers[0][0])
    cart.same_policy(load_policy(tmp_path), other.policy)
    assert load_policy(tmp_path).record["agent"]["steps"] == 120


def test_everything_that_an_agent_depends_on_is_in_its_fingerprint(
    env: ModelEnv, cart_data: Episodes, tiny_agent: Agent
):
    def fingerprint(env: ModelEnv, start: Learner | None = None) -> str:
        return agent_directory(env, cart.TINY, 0, start, None, False).fingerprint

    def changed(**fields: Any) -> ModelEnv:
        return ModelEnv(cart.model(), dataclasses.replace(cart.CART, **fields), cart_data)

    found = [
        fingerprint(env),
        fingerprint(changed(reward=cart.far_out)),
        fingerprint(changed(max_episode_steps=30)),
        fingerprint(ModelEnv(cart.model(1.01 * cart.A), cart.CART, cart_data)),
        fingerprint(ModelEnv(cart.model(), cart.CART, cart.data(seed=1))),
        fingerprint(ModelEnv(cart.model(), cart.CART, cart_data, observation_noise=0.1)),
        fingerprint(env, learner_of(tiny_agent)),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(changed()) == found[0]


def test_the_number_of_steps_in_a_call_does_not_change_the_result(env: ModelEnv):
    trainer, config = ModelEnvTrainer(env, cart.TINY, seed=0), cart.TINY.compiled

    def trained(*counts: int) -> Any:
        state = trainer.initial_state()
        for count in counts:
            state, _ = train_steps(
                state, env.pure, trainer.steps_key, jnp.array(count), config, False, False
            )
        return state

    assert_equal(trained(6), trained(2, 4))


def test_with_observation_noise_the_actor_sees_readings_and_the_buffer_stores_both():
    env = ModelEnv(cart.model(), cart.CART, bounds=None, observation_noise=0.5)
    config = dataclasses.replace(cart.TINY, num_envs=1, gradient_steps=0)
    trainer = ModelEnvTrainer(env, config, seed=0)
    state = trainer.initial_state()
    # An actor whose action is tanh of the positive position that it observes, without noise.
    actor = [
        layer._replace(weight=np.zeros_like(layer.weight), bias=np.zeros_like(layer.bias))
        for layer in state.learner.actor
    ]
    for layer in actor:
        layer.weight[0, 0] = 1.0
    actor[-1].bias[1] = -20.0
    learner = state.learner._replace(actor=jax.tree.map(jnp.asarray, tuple(actor)))
    state, _ = train_steps(
        state._replace(learner=learner),
        env.pure,
        trainer.steps_key,
        jnp.array(15),
        config.compiled,
        acts=True,
        learns=False,
    )
    rows = np.asarray(state.replay.rows[:15])
    states, actions, after = rows[:, :2], rows[:, 2:3], rows[:, 3:5]
    observed, next_observed = rows[:, 7:9], rows[:, 9:11]
    np.testing.assert_allclose(actions[:, 0], np.tanh(np.maximum(observed[:, 0], 0)), atol=1e-5)
    applied = -2.0 + (actions + 1) / 2 * 3.0
    np.testing.assert_allclose(after, states @ cart.A.T + applied @ cart.B.T, atol=1e-5)
    np.testing.assert_array_equal(next_observed[:-1], observed[1:])
    np.testing.assert_array_equal(after[:-1], states[1:])
    spread = (next_observed - after).std(axis=0)
    assert 0.02 < spread[0] < 0.09 and 0.04 < spread[1] < 0.18  # half of 0.1 and 0.2


def test_unreliable_models_give_a_warning(cart_data: Episodes):
    fast = ModelEnv(cart.model(2 * np.eye(2, dtype=np.float32)), cart.CART, cart_data)
    with pytest.warns(DataWarning, match="bounds"):
        train_agent(fast, cart.TINY)
    broken = ModelEnv(cart.model(np.full((2, 2), np.nan, np.float32)), cart.CART, cart_data)
    with pytest.warns(DataWarning, match="not finite"):
        agent = train_agent(broken, cart.TINY)
    assert agent.curve.column("not_finite").sum() == 120
    assert all(np.isfinite(weight).all() for weight, _ in agent.policy.layers)


def test_an_agent_that_diverges_is_an_error(env: ModelEnv, tiny_agent: Agent):
    learner = jax.tree.map(lambda leaf: leaf * jnp.nan, learner_of(tiny_agent).critics)
    start = dataclasses.replace(
        tiny_agent, learner=learner_of(tiny_agent)._replace(critics=learner)
    )
    with pytest.raises(DivergedError, match="learning_rate"):
        train_agent(env, cart.TINY, start=start)
