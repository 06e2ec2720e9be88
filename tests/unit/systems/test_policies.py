"""Everything that can act in a system is turned into a policy with `predict`."""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import cart
from farstep.data.signals import Signals
from farstep.errors import FarstepError
from farstep.systems.network_policy import NetworkPolicy
from farstep.systems.policies import (
    FunctionPolicy,
    Policy,
    ResettablePolicy,
    as_policy,
    policy_fingerprint,
    random_policy,
)
from farstep.systems.registry import get_system


def push(observation: np.ndarray) -> np.ndarray:
    return observation[:1] * 2


def shove(observation: np.ndarray) -> np.ndarray:
    return observation[:1] * 3


def drawing(observation: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return observation[:1] + rng.normal()


class PredictsObservations:
    """Has a method `predict` as models have."""

    def predict(self, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return observations + actions


def network(weight: float) -> NetworkPolicy:
    layers = [(np.full((2, 1), weight, np.float32), np.zeros(1, np.float32))]
    return NetworkPolicy(layers, cart.SIGNALS)


def test_random_actions_fill_their_bounds_and_follow_the_seed():
    policy = random_policy(cart.CART)
    assert isinstance(policy, ResettablePolicy)
    policy.reset(np.random.SeedSequence(3))
    actions = policy.predict(np.zeros((2000, 2)))
    assert actions.shape == (2000, 1)
    assert actions.dtype == np.float32
    assert -2 <= actions.min() < -1.99
    assert 0.99 < actions.max() <= 1
    assert actions.mean() == pytest.approx(-0.5, abs=5 * 3 / np.sqrt(12 * 2000))
    policy.reset(np.random.SeedSequence(3))
    assert policy.predict(np.zeros(2)) == actions[0]
    unbounded = dataclasses.replace(cart.CART, signals=Signals.unnamed(2, 1))
    with pytest.raises(FarstepError, match=r"bounds .*'cart'"):
        as_policy("random", unbounded)


def test_functions_act_on_one_observation_at_a_time():
    policy = as_policy(push, cart.CART)
    assert isinstance(policy, FunctionPolicy)
    np.testing.assert_array_equal(policy.predict(np.array([1.0, 5.0])), [2.0])
    many = np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_array_equal(policy.predict(many), 2 * many[..., :1])


def test_policies_are_found_by_object_by_path_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given = network(0.5)
    assert as_policy(given, cart.CART) is given
    path = given.save(tmp_path / "at:12" / "policy.safetensors")
    monkeypatch.chdir(tmp_path)
    for named in (path, str(path), path.parent, "at:12/policy.safetensors"):
        found = as_policy(named, cart.CART)
        assert isinstance(found, NetworkPolicy)
        assert found.fingerprint == given.fingerprint
    (tmp_path / "own_policies.py").write_text("def act(observation):\n    return [0.5]\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert as_policy("own_policies:act", cart.CART).predict(np.zeros(2)) == 0.5
    assert isinstance(as_policy("random", cart.CART), Policy)


def test_what_cannot_act_is_refused(tmp_path: Path):
    path = network(0.5).save(tmp_path / "policy.safetensors")
    for given in (network(0.5), path):
        with pytest.raises(FarstepError, match="'cartpole-swingup'"):
            as_policy(given, get_system("cartpole-swingup"))
    for given, message in (
        ("rndom", "'rndom'.*'random'"),
        ("own_policies_missing:act", "own_policies_missing"),
        (5, "predict.*int"),
        (FunctionPolicy, "FunctionPolicy"),
        (PredictsObservations(), "predict must take observations alone: .*'actions'"),
        (drawing, "observations alone: .*'rng'"),
    ):
        with pytest.raises(FarstepError, match=message):
            as_policy(given, cart.CART)


def test_fingerprints_differ_between_policies(tmp_path: Path):
    path = network(0.5).save(tmp_path / "policy.safetensors")
    one = policy_fingerprint(network(0.5))
    assert policy_fingerprint(path) == policy_fingerprint(str(tmp_path)) == one
    assert policy_fingerprint(push) == policy_fingerprint(FunctionPolicy(push))
    assert policy_fingerprint(push) == policy_fingerprint(partial(push))
    found = {policy_fingerprint(given) for given in (network(0.6), push, shove, "random", "a:b")}
    assert len(found | {one}) == 6
