"""Agents: they learn, resume to the same bits, compile once, and say what is wrong."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, TINY, A, B, data, far_out, model, same_policy
from farstep.agents import imagined as imagined_module
from farstep.agents.config import AgentConfig, agent_config
from farstep.agents.files import AgentFiles
from farstep.agents.imagined import ImaginedTraining
from farstep.agents.program import LEARNING, WARM_UP, Phase, imagined_returns, live
from farstep.agents.train import train
from farstep.agents.training import identity
from farstep.errors import DataWarning, DivergedError, FarstepError
from farstep.imagination.imagine import Imagination, imagine
from farstep.systems.system import never


@pytest.fixture(scope="module")
def imagined() -> Imagination:
    return imagine(model(), CART, data())


def _compiled() -> int:
    return live._cache_size()  # pyright: ignore[reportAttributeAccessIssue]


def _equal(one, other) -> None:
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _numbers(curve) -> list[dict]:
    return [{n: v for n, v in row.items() if "seconds" not in n} for row in curve.rows]


def test_an_agent_learns_to_bring_the_cart_home():
    imagined = imagine(model(), CART, bounds=None)
    config = dataclasses.replace(TINY, steps=4000, learning_rate=3e-3, eval_every=4000, gamma=0.95)
    agent = train(imagined, config, seed=0)
    found = agent.curve.column("imagined_return")
    keys = jax.random.split(jax.random.key(0), 2)
    first = ImaginedTraining(imagined, config, seed=0).first()
    untrained = float(imagined_returns(imagined.whole, first.learner.policy, keys).mean())
    # Doing nothing costs 1 a step: −20.
    assert found[-1] > -14
    assert found[-1] > untrained + 1


def test_a_list_of_layers_is_as_good(imagined: Imagination):
    listed = dataclasses.replace(TINY)
    object.__setattr__(listed, "net_arch", [16, 16])  # the tests' type checker is in the way
    agent = train(imagined, listed, seed=1)
    assert [len(bias) for _, bias in agent.policy.layers[:-1]] == [16, 16]
    same_policy(agent.policy, train(imagined, TINY, seed=1).policy)


def test_the_counts_are_right(imagined: Imagination):
    agent = train(imagined, TINY, seed=1)
    assert agent.curve.column("steps").tolist() == [40, 80, 120]
    # 5 turns of warm-up, then 2 updates after each turn of 4 systems.
    assert agent.curve.column("updates").tolist() == [10, 30, 50]
    assert np.isfinite(agent.curve.column("strangeness")).all()
    assert agent.curve.best is None
    same_policy(agent.policy, agent.best)


def test_an_agent_that_goes_on_acts_in_its_warm_up(imagined: Imagination, monkeypatch):
    phases = []

    def watched(*arguments):
        phases.append(arguments[-1])
        return live(*arguments)

    monkeypatch.setattr(imagined_module, "live", watched)
    start = train(imagined, TINY, seed=0)
    assert list(dict.fromkeys(phases)) == [WARM_UP, LEARNING]
    phases.clear()
    train(imagined, TINY, seed=1, start=start)
    assert list(dict.fromkeys(phases)) == [Phase(acts=True, learns=False), LEARNING]


def test_the_averaged_actor_is_what_is_evaluated_and_kept(imagined: Imagination, monkeypatch):
    seen = []

    def watched(world, actor, keys):
        seen.append(jax.tree.map(np.array, actor))
        return imagined_returns(world, actor, keys)

    monkeypatch.setattr(imagined_module, "imagined_returns", watched)
    plain, averaged = (train(imagined, TINY, seed=0, average=a) for a in (None, 0.9))
    # What acts and learns does not depend on what is kept.
    _equal(plain.learner.actor, averaged.learner.actor)
    _equal(seen[len(seen) // 2 - 1], plain.learner.actor)
    _equal(seen[-1], averaged.learner.averaged)
    (weight, _), *_ = averaged.policy.layers
    np.testing.assert_array_equal(weight, averaged.learner.averaged[0].weight)
    assert not np.array_equal(weight, averaged.learner.actor[0].weight)


def test_an_average_begins_with_what_the_agent_starts_from(imagined: Imagination):
    plain, averaged = (train(imagined, TINY, seed=0, average=a) for a in (None, 0.9))
    for start, average, expected in (
        (plain, 0.9, plain.learner.actor),
        (averaged, 0.9, averaged.learner.averaged),
    ):
        config = dataclasses.replace(TINY, average=average)
        first = ImaginedTraining(imagined, config, 1, start.learner).first().learner
        _equal(first.averaged, expected)
        _equal(first.actor, start.learner.actor)
    assert train(imagined, TINY, seed=1, start=averaged).learner.averaged is None


def test_a_temperature_of_nothing_is_not_gone_on_with(imagined: Imagination):
    cold = train(imagined, TINY, seed=0, ent_coef=0.0)
    first = ImaginedTraining(imagined, TINY, 1, cold.learner).first().learner
    assert float(first.log_temperature) == 0.0
    warm = train(imagined, TINY, seed=1, start=cold)
    assert warm.curve.column("temperature").min() > 0


@pytest.mark.parametrize(("keep", "average"), [("last", None), ("best", 0.9)])
def test_a_killed_training_ends_as_if_it_had_not_been(
    imagined: Imagination, tmp_path, monkeypatch, keep, average
):
    config = dataclasses.replace(TINY, keep=keep, average=average)
    whole = train(imagined, config, seed=3, out=tmp_path / "whole")
    write, written = AgentFiles.write, []

    def killed(self, progress):
        write(self, progress)
        written.append(1)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(AgentFiles, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        train(imagined, config, seed=3, out=tmp_path / "parts")
    monkeypatch.setattr(AgentFiles, "write", write)
    assert (tmp_path / "parts" / "checkpoint.safetensors").exists()
    resumed = train(imagined, config, seed=3, out=tmp_path / "parts")
    same_policy(resumed.policy, whole.policy)
    same_policy(resumed.best, whole.best)
    assert _numbers(resumed.curve) == _numbers(whole.curve)
    assert not (tmp_path / "parts" / "checkpoint.safetensors").exists()


def test_a_finished_training_is_read_and_another_refused(imagined: Imagination, tmp_path):
    agent = train(imagined, TINY, seed=0, out=tmp_path / "a")
    before = (tmp_path / "a" / "policy.safetensors").stat().st_mtime_ns
    again = train(imagined, TINY, seed=0, out=tmp_path / "a")
    same_policy(agent.policy, again.policy)
    assert again.curve.rows == agent.curve.rows
    assert (tmp_path / "a" / "policy.safetensors").stat().st_mtime_ns == before
    for changed in ({"seed": 1}, {"gamma": 0.5}):
        with pytest.raises(FarstepError, match="other settings, model or data"):
            train(imagined, TINY, **{"seed": 0, **changed}, out=tmp_path / "a")
    other = train(imagined, TINY, seed=1, out=tmp_path / "a", force=True)
    assert not np.array_equal(other.policy.layers[0][0], agent.policy.layers[0][0])


def test_the_program_is_compiled_once_for_warm_up_and_once_for_learning(imagined: Imagination):
    config = dataclasses.replace(TINY, net_arch=(8,), steps=200)
    before = _compiled()
    train(imagined, config, seed=0)
    train(imagined, config, seed=1)
    assert _compiled() == before + 2


def test_an_agent_of_noisy_sensors_acts_on_readings_and_remembers_both():
    noisy = imagine(model(), CART, bounds=None, noise=0.5)
    config = dataclasses.replace(TINY, num_envs=1, gradient_steps=0)
    training = ImaginedTraining(noisy, config, seed=0)
    start = training.first()
    # An actor whose action is tanh of the position that it sees, almost without spread.
    flat = tuple(jax.tree.map(jnp.zeros_like, layer) for layer in start.learner.actor)
    weights = [layer.weight.at[0, 0].set(1.0) for layer in flat]
    bias = flat[-1].bias.at[1].set(-20.0)
    actor = tuple(layer._replace(weight=w) for layer, w in zip(flat, weights, strict=True))
    actor = (*actor[:-1], actor[-1]._replace(bias=bias))
    start = start._replace(learner=start.learner._replace(actor=actor))
    acting = Phase(acts=True, learns=False)
    state, _ = live(start, noisy.world, training.keys.steps, jnp.array(15), config, acting)
    rows = np.asarray(state.replay.rows[:15])
    states, actions, after = rows[:, :2], rows[:, 2:3], rows[:, 3:5]
    seen, next_seen = rows[:, 7:9], rows[:, 9:11]
    np.testing.assert_allclose(actions[:, 0], np.tanh(np.maximum(seen[:, 0], 0.0)), atol=1e-5)
    applied = -2.0 + (actions + 1) / 2 * 3.0
    np.testing.assert_allclose(after, states @ A.T + applied @ B.T, atol=1e-5)
    np.testing.assert_array_equal(next_seen[:-1], seen[1:])
    np.testing.assert_array_equal(after[:-1], states[1:])
    spread = (next_seen - after).std(axis=0)
    assert 0.02 < spread[0] < 0.09 and 0.04 < spread[1] < 0.18  # 0.5 of 0.1 and 0.2


def test_the_number_of_steps_is_no_part_of_the_result(imagined: Imagination):
    training = ImaginedTraining(imagined, TINY, seed=0)
    start = training.first()
    copy = jax.tree.map(jnp.copy, start)
    arguments = (imagined.world, training.keys.steps)
    whole, _ = live(start, *arguments, jnp.array(6), TINY, WARM_UP)
    part, _ = live(copy, *arguments, jnp.array(2), TINY, WARM_UP)
    part, _ = live(part, *arguments, jnp.array(4), TINY, WARM_UP)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_that_leaves_the_bounds_is_told_of():
    fast = imagine(
        model(2 * np.eye(2, dtype=np.float32)), dataclasses.replace(CART, terminated=never), data()
    )
    with pytest.warns(DataWarning, match="left the bounds at .* of the last steps"):
        train(fast, TINY, seed=0)


def test_states_that_are_not_finite_are_told_of():
    broken = imagine(model(np.full((2, 2), np.nan, np.float32)), CART, bounds=None)
    with pytest.warns(DataWarning, match="not finite"):
        agent = train(broken, TINY, seed=0)
    assert agent.curve.column("not_finite").sum() == 120
    assert all(np.isfinite(weight).all() for weight, _ in agent.policy.layers)


def test_an_agent_that_diverges_is_told_of(imagined: Imagination):
    with pytest.raises(DivergedError, match="the agent diverged"):
        train(imagined, TINY, learning_rate=1e30)


def test_another_reward_is_another_training(imagined: Imagination):
    other = dataclasses.replace(CART, reward=far_out)
    longer = dataclasses.replace(CART, episode_steps=30)
    found = {
        identity(imagine(model(), system, data()), TINY, 0) for system in (CART, other, longer)
    }
    assert len(found) == 3
    assert identity(imagine(model(), CART, data()), TINY, 0) == identity(imagined, TINY, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"gamma": 1.5}, r"gamma must lie in \[0, 1\]"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, not 'fast'"),
        ({"batch_size": 1.5}, "batch_size must be a whole number, not 1.5"),
        ({"net_arch": 8}, "net_arch must be a list, each a whole number, not 8"),
        ({"steps": 20}, "learning starts after 20 steps, but only 20"),
        ({"net_arch": ()}, "at least one layer"),
        ({"ent_coef": -1.0}, "ent_coef must be 0 or more"),
        ({"agent": "sca"}, "Did you mean 'sac'"),
        ({"agent": "sb3:SCA"}, "no agent 'sb3:SCA'.*Did you mean"),
        ({"agent": "sb3:DQN"}, "for continuous actions"),
        ({"keep": "first"}, "there is no keep 'first'"),
        ({"average": 1.0}, "average must lie between 0 and 1, not 1"),
        ({"average": 0.9, "agent": "sb3:SAC"}, "sb3:SAC has no average; leave that out"),
        ({"keep": "best", "agent": "sb3:SAC"}, "keep=best is for the built-in agent"),
        ({"stpes": 3}, "Did you mean 'steps'"),
    ],
)
def test_bad_settings_are_one_line(imagined: Imagination, settings, message):
    with pytest.raises(FarstepError, match=message):
        train(imagined, TINY, **settings)


def test_presets():
    assert agent_config("paper") == AgentConfig()
    fast = agent_config("fast", steps=1000)
    assert fast.steps == 1000 and fast.num_envs > 1 and fast.keep == "best"
    assert agent_config("brief", steps=700).learning_starts == 100
    assert agent_config("brief", steps=700, learning_starts=7).learning_starts == 7
    assert agent_config("brief", steps=np.int64(35_000)).learning_starts == 5_000
    assert agent_config("brief", steps=200_000).learning_starts == 20_000
    assert agent_config("fast", agent="sb3:SAC") == dataclasses.replace(
        agent_config("fast"), agent="sb3:SAC", keep="last", average=None
    )
    with pytest.raises(FarstepError, match="Did you mean 'fast'"):
        agent_config("fest")
    with pytest.raises(FarstepError, match="seed must be a whole number of at least 0"):
        train("Pendulum-v1", seed=-1)


@pytest.mark.parametrize("name", ["sb3:TD3", "sb3:DDPG", "sb3:PPO", "sb3:A2C"])
def test_others_have_of_a_preset_what_they_go_by(name):
    fast = agent_config("fast")
    assert agent_config("fast", agent=name) == AgentConfig(
        agent=name, steps=fast.steps, num_envs=fast.num_envs, gamma=fast.gamma
    )
    for given in ({"gradient_steps": 2}, {"learning_rate": AgentConfig.learning_rate}):
        with pytest.raises(FarstepError, match=f"{name} keeps .* own {next(iter(given))}; leave"):
            agent_config("fast", agent=name, **given)
