"""Policies: stored and read to the bit, run without the model, refused where they do not fit."""

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from cart import CART, SIGNALS, data, model
from farstep.agents.networks import Linear, action_distribution
from farstep.agents.program import unscaled
from farstep.agents.train import train
from farstep.errors import FarstepError
from farstep.fitting.fit import fit
from farstep.imagination.imagine import imagine
from farstep.policy import Policy, load_policy
from farstep.systems.collect import collect
from farstep.systems.registry import system
from test_agents import TINY


def _policy(seed: int = 0, **changes) -> Policy:
    rng = np.random.default_rng(seed)
    sizes = (2, 8, 2)
    layers = [
        (rng.normal(size=(n, m)).astype(np.float32), rng.normal(size=m).astype(np.float32))
        for n, m in itertools.pairwise(sizes)
    ]
    return Policy(layers, SIGNALS, "cart", **changes)


def test_one_or_many_states():
    policy, states = _policy(), np.random.default_rng(1).normal(size=(5, 4, 2))
    many = policy(states)
    assert many.shape == (5, 4, 1) and many.dtype == np.float32
    np.testing.assert_allclose(policy(states[2, 3]), many[2, 3], rtol=1e-6)
    assert (many >= -2).all() and (many <= 1).all()


def test_it_acts_as_the_agent_does():
    policy, states = _policy(), np.random.default_rng(1).normal(size=(6, 2)).astype(np.float32)
    actor = tuple(Linear(jnp.asarray(w), jnp.asarray(b)) for w, b in policy.layers)
    mean, log_std = action_distribution(actor, jnp.asarray(states))
    np.testing.assert_allclose(policy(states), unscaled(jnp.tanh(mean), SIGNALS), rtol=1e-5)
    rng = np.random.default_rng(3)
    drawn = policy.sample(states, rng)
    noise = np.random.default_rng(3).standard_normal((6, 1))
    expected = unscaled(jnp.tanh(mean + jnp.exp(log_std) * noise), SIGNALS)
    np.testing.assert_allclose(drawn, expected, rtol=1e-5)


def test_clipped_and_without_deviation():
    layers = [(np.eye(2, 1, dtype=np.float32), np.zeros(1, np.float32))]
    policy = Policy(layers, SIGNALS, "cart", "tanh", "clip")
    np.testing.assert_array_equal(policy(np.array([[0.5, 9.0], [7.0, 0.0]])), [[0.5], [1.0]])
    with pytest.raises(FarstepError, match="no standard deviation"):
        policy.sample(np.zeros(2), np.random.default_rng(0))


def test_stored_and_read_to_the_bit(tmp_path: Path):
    policy = _policy(record={"seed": 4})
    path = policy.save(tmp_path / "p.safetensors")
    read = load_policy(path)
    states = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_array_equal(read(states), policy(states))
    assert read.record == {"seed": 4} and read.system == "cart" and read.signals == SIGNALS
    with pytest.raises(FarstepError, match="exists already"):
        policy.save(path)


def test_what_is_no_policy_is_said(tmp_path: Path):
    with pytest.raises(FarstepError, match="there is no policy"):
        load_policy(tmp_path / "none.safetensors")
    fitted = imagine(model(), CART, data())
    other = train(fitted, TINY, seed=0).policy
    path = other.save(tmp_path / "p.safetensors")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FarstepError, match="not a readable policy"):
        load_policy(path)
    stored = fit(data(), model="linear", out=tmp_path / "m")
    assert stored.signals == SIGNALS
    with pytest.raises(FarstepError, match="holds something else"):
        load_policy(tmp_path / "m" / "model.safetensors")
    wide = Policy([(np.zeros((2, 5), np.float32), np.zeros(5, np.float32))], SIGNALS)
    with pytest.raises(FarstepError, match="5 numbers for 1 actions"):
        load_policy(wide.save(tmp_path / "w.safetensors"))


def test_shapes_are_checked():
    with pytest.raises(FarstepError, match=r"takes \(…, 2\): position, velocity"):
        _policy()(np.zeros(3))


def test_a_policy_for_another_system_is_refused(tmp_path: Path):
    path = _policy().save(tmp_path / "policy.safetensors")
    for given in (str(path), path, load_policy(tmp_path)):
        with pytest.raises(FarstepError, match="does not fit system 'cartpole-swingup'"):
            collect("cartpole-swingup", given, episodes=1)


def test_it_runs_without_jax(tmp_path: Path):
    path = _policy().save(tmp_path / "p.safetensors")
    code = (
        "import sys; from farstep.policy import load_policy; "
        f"print(load_policy({str(path)!r})([0.5, 0.5])); assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_stored_policy_collects(tmp_path: Path):
    signals = system("pendulum-swingup").signals
    rng = np.random.default_rng(0)
    layers = [
        (
            rng.normal(size=(signals.num_states, 2)).astype(np.float32),
            np.zeros(2, np.float32),
        )
    ]
    path = Policy(layers, signals, "pendulum-swingup").save(tmp_path / "p.safetensors")
    short = dataclasses.replace(system("pendulum-swingup"), episode_steps=5)
    recorded = collect(short, str(path), episodes=1)
    np.testing.assert_allclose(load_policy(path)(recorded.states[:-1]), recorded.actions, rtol=1e-5)


def test_there_is_no_action_for_a_state_that_is_not_finite():
    policy = Policy([(np.zeros((2, 1), np.float32), np.zeros(1))], SIGNALS)
    assert np.isfinite(policy([0.0, 1.0])).all()
    with pytest.raises(FarstepError, match="a state is not finite"):
        policy([0.0, np.nan])
    with pytest.raises(FarstepError, match="not finite"):
        model().rollout([0.0, np.inf], np.zeros((3, 1)))
