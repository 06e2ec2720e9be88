"""Horizon weights: each profile's formula, its text form, and what is refused."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.errors import FarstepError
from farstep.training import weights as module
from farstep.training.weights import (
    PROFILES,
    Learned,
    Proportional,
    Uniform,
    decay,
    explicit,
    profile,
)

EXAMPLES = {
    "auto": "auto",
    "uniform": "uniform",
    "decay": "decay:0.75",
    "explicit": "explicit:0.3,0.7,1.0,2.0",
    "proportional": "proportional",
    "learned": "learned:0.1",
}
"""The text form of one value of every profile."""


def _weights(given: Any, losses: Any, logits: Any = None) -> np.ndarray:
    losses = np.array(losses, np.float32)
    logits = np.zeros_like(losses) if logits is None else np.array(logits, np.float32)
    return np.asarray(profile(given).weights(jnp.asarray(losses), jnp.asarray(logits)))


def last(losses: jax.Array) -> jax.Array:
    return losses * jnp.arange(len(losses)) * 5


def test_every_profile_has_an_example():
    assert EXAMPLES.keys() == PROFILES.keys()


@pytest.mark.parametrize("given", [*EXAMPLES.values(), decay(2.0), explicit(1, 2, 3, 4)])
def test_weights_are_positive_and_sum_to_one(given: Any):
    weights = _weights(given, [0.1, 0.5, 2.0, 30.0])
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)
    assert (weights > 0).all()


@pytest.mark.parametrize("given", [*EXAMPLES.values(), last])
def test_fixed_weights_are_those_that_depend_on_nothing(given: Any):
    one = _weights(given, [0.1, 0.5, 3.0, 30.0], [3.0, 0.0, -1.0, 0.0])
    other = _weights(given, [1.0, 1.0, 1.0, 1.0])
    fixed = profile(given).fixed(4)
    assert (fixed is None) == (not np.array_equal(one, other))
    if fixed is not None:
        np.testing.assert_array_equal(fixed, one)


@pytest.mark.parametrize("text", [*EXAMPLES.values(), "learned", "jax.numpy:ones_like"])
def test_the_text_form_goes_there_and_back(text: str):
    assert profile(text).text == text
    assert profile(profile(text)) == profile(text)


@settings(max_examples=30)
@given(st.floats(0.01, 20.0), st.sampled_from([1, 4]))
def test_decay_is_a_power_of_beta(beta: float, horizon: int):
    weights = _weights(decay(beta), np.ones(horizon))
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    large = weights[:-1] > 1e-30
    ratio = weights[1:][large] / weights[:-1][large]
    np.testing.assert_allclose(ratio[ratio > 1e-30], beta, rtol=1e-3)


def test_the_limits_of_decay_are_one_horizon_and_all():
    np.testing.assert_allclose(_weights(decay(1e-300), np.ones(4)), [1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(_weights(decay(1e300), np.ones(4)), [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(_weights(decay(1.0), np.ones(4)), 0.25, rtol=1e-6)
    assert np.isfinite(_weights(decay(20.0), np.ones(100))).all()


def test_decay_is_the_papers_up_to_one_factor():
    beta, h = 0.75, 4
    papers = [(1 - beta) / (1 - beta ** (h + 1)) * beta**j for j in range(1, h + 1)]
    ratio = _weights(decay(beta), np.ones(h)) / papers
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


def test_proportional_is_one_over_the_loss():
    losses = np.array([0.5, 1.0, 2.0, 4.0])
    expected = (1 / losses) / (1 / losses).sum()
    np.testing.assert_allclose(_weights(Proportional(), losses), expected, rtol=1e-6)
    small = _weights(Proportional(), [-1.0, 1e-12, 1e-8, 1.0])
    np.testing.assert_allclose(small[:3], 1 / 3, rtol=1e-5)


def test_explicit_weights_are_scaled_and_may_be_a_list():
    np.testing.assert_allclose(_weights([3, 7, 0, 0], np.ones(4)), [0.3, 0.7, 0, 0], rtol=1e-6)
    for extreme in (1e-46, 1e39):  # float32 holds neither
        alike = _weights(explicit(*[extreme] * 4), np.ones(4))
        np.testing.assert_array_equal(alike, 0.25)
    explicit(1, 2).check(2)
    with pytest.raises(FarstepError, match="3 horizons"):
        explicit(1, 2).check(3)


def test_a_function_of_the_running_losses_is_scaled():
    np.testing.assert_allclose(_weights(last, [1.0, 2.0, 3.0, 0.0]), [0, 0.25, 0.75, 0])
    with pytest.raises(FarstepError, match="one weight for each"):
        _weights(lambda _: jnp.ones(()), np.ones(4))


def test_learned_weights_are_a_softmax_with_an_entropy_penalty():
    weights = _weights(Learned(), np.ones(4), [np.log(3.0), 0.0, 0.0, 0.0])
    np.testing.assert_allclose(weights, np.array([3, 1, 1, 1]) / 6, rtol=1e-6)
    even, one_sided = (jnp.asarray(v, jnp.float32) for v in (np.full(4, 0.25), [1.0, 0, 0, 0]))
    assert float(Learned(2.0).penalty(even)) == pytest.approx(-2 * np.log(4), rel=1e-5)
    assert float(Learned(2.0).penalty(one_sided)) == pytest.approx(0.0, abs=1e-6)
    assert float(Uniform().penalty(even)) == 0.0
    assert [name for name in EXAMPLES if profile(EXAMPLES[name]).trained] == ["learned"]


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("decy:0.5", "Did you mean 'decay'"),
        ("decay", "decay:BETA"),
        ("decay:x", "decay:BETA"),
        ("decay:0", "β"),
        ("decay:nan", "β"),
        ("explicit", "explicit"),
        ("explicit:0,0", "not all 0"),
        ("explicit:1,-1", "0 or more"),
        ("learned:-1", "0 or more"),
        ("learned:1,2", "learned:ENTROPY"),
        ("uniform:3", "uniform"),
        ("no_module:function", "no_module"),
        ("math:no_function", "no_function"),
        ("math:pi", "float"),
        (3.0, "3.0"),
        (["a", "b"], "list of numbers"),
        ([1, -1], "0 or more"),
    ],
)
def test_other_weights_are_errors(given: Any, part: str):
    with pytest.raises(FarstepError) as caught:
        profile(given)
    assert part in str(caught.value)


def test_a_new_profile_is_one_class(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PROFILES", dict(PROFILES))

    @dataclass(frozen=True)
    class Growing(module.Fixed):
        name = "growing"
        power: float = 1.0

        def weights(self, losses, logits):
            del logits
            raised = jnp.arange(1, len(losses) + 1) ** self.power
            return raised / raised.sum()

    assert profile("growing").text == "growing"
    assert profile("growing:2") == Growing(2.0)
    np.testing.assert_allclose(_weights("growing:2.0", np.ones(4)), np.arange(1, 5) ** 2 / 30)
