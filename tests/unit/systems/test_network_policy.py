"""NetworkPolicy: stored and read exactly, run without JAX, refused where it does not fit."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cart
from farstep.data.signals import Signals
from farstep.errors import FarstepError
from farstep.storage import tensors
from farstep.systems.network_policy import NetworkPolicy, load_policy


def policy(seed: int = 0, sizes: tuple[int, ...] = (2, 8, 2), **changes) -> NetworkPolicy:
    rng = np.random.default_rng(seed)
    layers = [
        (rng.normal(size=(n, m)).astype(np.float32), rng.normal(size=m).astype(np.float32))
        for n, m in itertools.pairwise(sizes)
    ]
    return NetworkPolicy(layers, cart.SIGNALS, "cart", **changes)


def test_actions_of_one_and_of_many_observations():
    observations = np.random.default_rng(1).normal(size=(5, 4, 2))
    many = policy().predict(observations)
    assert many.shape == (5, 4, 1)
    assert many.dtype == np.float32
    np.testing.assert_allclose(policy().predict(observations[2, 3]), many[2, 3], rtol=1e-6)
    assert ((many >= -2) & (many <= 1)).all()


def test_squashed_actions_are_a_tanh_scaled_to_the_bounds():
    """The network has one hidden layer of ReLUs; the bounds are -2 and 1."""
    (w0, b0), (w1, b1) = policy().layers
    observations = np.random.default_rng(1).normal(size=(6, 2)).astype(np.float32)
    output = np.maximum(observations @ w0 + b0, 0) @ w1 + b1
    mean, log_std = output[:, :1], output[:, 1:]
    np.testing.assert_allclose(policy().predict(observations), 1.5 * np.tanh(mean) - 0.5, rtol=1e-5)
    drawn = policy().sample(observations, np.random.default_rng(3))
    noise = np.random.default_rng(3).standard_normal((6, 1))
    std = np.exp(np.clip(log_std, -20, 2))
    np.testing.assert_allclose(drawn, 1.5 * np.tanh(mean + std * noise) - 0.5, rtol=1e-4)


def test_clipped_actions_without_a_deviation():
    layers = [(np.eye(2, 1, dtype=np.float32), np.zeros(1, np.float32))]
    clipped = NetworkPolicy(layers, cart.SIGNALS, "cart", "tanh", "clip")
    found = clipped.predict(np.array([[0.5, 9.0], [7.0, 0.0]]))
    np.testing.assert_array_equal(found, [[0.5], [1.0]])
    with pytest.raises(FarstepError, match="standard deviation"):
        clipped.sample(np.zeros(2), np.random.default_rng(0))


def test_observations_are_checked():
    with pytest.raises(FarstepError, match="position, velocity"):
        policy().predict(np.zeros(3))
    with pytest.raises(FarstepError, match="not finite"):
        policy().predict([0.0, np.nan])


def test_a_stored_policy_is_read_exactly(tmp_path: Path):
    original = policy(record={"seed": 4})
    path = original.save(tmp_path / "policy.safetensors")
    for given in (path, tmp_path):
        read = load_policy(given)
        observations = np.random.default_rng(1).normal(size=(50, 2))
        np.testing.assert_array_equal(read.predict(observations), original.predict(observations))
        assert (read.record, read.system, read.signals) == ({"seed": 4}, "cart", cart.SIGNALS)
        assert read.fingerprint == original.fingerprint
        assert repr(read) == "Policy for cart: 2-8-2, relu"
    with pytest.raises(FarstepError, match=r"policy\.safetensors exists"):
        original.save(path)
    others = [policy(1), policy(activation="tanh"), policy(output="clip")]
    assert len({original.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_files_that_are_no_policy_are_refused(tmp_path: Path):
    with pytest.raises(FarstepError, match="no policy"):
        load_policy(tmp_path / "none.safetensors")
    path = policy().save(tmp_path / "p.safetensors")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FarstepError, match=r"p\.safetensors"):
        load_policy(path)
    model = cart.model().save(tmp_path / "model.safetensors")
    with pytest.raises(FarstepError, match="no policy"):
        load_policy(model)
    unbounded = NetworkPolicy(policy().layers, Signals.unnamed(2, 1))
    for number, (wrong, message) in enumerate(
        [(policy(sizes=(2, 5)), "5 numbers for 1 actions"), (unbounded, "bounds")]
    ):
        with pytest.raises(FarstepError, match=message):
            load_policy(wrong.save(tmp_path / f"{number}.safetensors"))
    arrays, header = tensors.decode(policy().save(tmp_path / "q.safetensors"), "policy")
    for change, message in (({"format": 9}, "9"), ({"signals": None}, "q.safetensors")):
        (tmp_path / "q.safetensors").write_bytes(tensors.encode(arrays, {**header, **change}))
        with pytest.raises(FarstepError, match=message):
            load_policy(tmp_path / "q.safetensors")


def test_it_runs_without_jax(tmp_path: Path):
    path = policy().save(tmp_path / "p.safetensors")
    code = (
        "import sys; from farstep.systems.network_policy import load_policy; "
        f"print(load_policy({str(path)!r}).predict([0.5, 0.5])); assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
