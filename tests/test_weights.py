import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farstep.errors import FarstepError
from farstep.weights import Learned, Losses, Proportional, Uniform, decay, explicit, profile


def _weights(given: object, losses: list[float], logits: list[float] | None = None) -> np.ndarray:
    zeros = [0.0] * len(losses)
    value = profile(given)  # type: ignore[arg-type]
    return np.asarray(value.weights(jnp.array(losses), jnp.array(logits or zeros)))


@pytest.mark.parametrize(
    "given", [Uniform(), decay(0.3), decay(2.0), Proportional(), Learned(), explicit(1, 2, 3, 4)]
)
def test_weights_are_positive_and_sum_to_one(given: object):
    weights = _weights(given, [0.1, 0.5, 2.0, 30.0])
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)
    assert (weights > 0).all()


@pytest.mark.parametrize("given", ["uniform", "auto", "decay:0.3", "explicit:1,2,3"])
def test_fixed_weights_do_not_depend_on_losses(given: str):
    fixed = profile(given).fixed(3)
    assert fixed is not None
    np.testing.assert_array_equal(fixed, _weights(given, [0.1, 0.5, 30.0], [3.0, 0.0, -1.0]))


@pytest.mark.parametrize("given", ["proportional", "learned", "learned:0.1", jnp.ones_like])
def test_weights_that_change_are_not_fixed(given: object):
    assert profile(given).fixed(3) is None  # type: ignore[arg-type]


@settings(deadline=None, max_examples=30)
@given(st.floats(0.01, 20.0), st.integers(1, 100))
def test_decay_is_a_power_of_beta_for_any_beta(beta: float, horizon: int):
    weights = _weights(decay(beta), [1.0] * horizon)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-5)
    large = weights[:-1] > 1e-30
    ratio = weights[1:][large] / weights[:-1][large]
    np.testing.assert_allclose(ratio[ratio > 1e-30], beta, rtol=1e-3)


def test_decays_limits_are_one_step_and_Uniform():
    for tiny in (1e-9, 1e-300):
        np.testing.assert_allclose(_weights(decay(tiny), [1.0] * 5), [1, 0, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(_weights(decay(1e300), [1.0] * 3), [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(_weights(decay(1.0), [1.0] * 5), 0.2, rtol=1e-6)
    assert (np.diff(_weights(decay(1.5), [1.0] * 5)) > 0).all()


def test_decay_is_the_papers_up_to_one_factor():
    beta, h = 0.75, 4
    papers = [(1 - beta) / (1 - beta ** (h + 1)) * beta**j for j in range(1, h + 1)]
    ratio = _weights(decay(beta), [1.0] * h) / papers
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


def test_proportional_is_one_over_the_loss():
    losses = np.array([0.5, 1.0, 4.0])
    expected = (1 / losses) / (1 / losses).sum()
    np.testing.assert_allclose(_weights(Proportional(), losses.tolist()), expected, rtol=1e-6)


def test_explicit_is_scaled_and_a_list_means_it():
    np.testing.assert_allclose(_weights([3, 7], [1.0, 1.0]), [0.3, 0.7], rtol=1e-6)
    explicit(1, 2).check(2)
    for tiny_or_large in (1e-46, 1e39):  # which float32 cannot hold
        alike = explicit(tiny_or_large, tiny_or_large).weights(jnp.ones(2), jnp.zeros(2))
        np.testing.assert_array_equal(alike, [0.5, 0.5])
    with pytest.raises(FarstepError, match="2 explicit weights were given for horizon 3"):
        explicit(1, 2).check(3)


def test_a_function_of_the_running_losses_is_a_profile():
    def last(losses: jax.Array) -> jax.Array:
        return losses * jnp.array([0.0, 0.0, 5.0])

    np.testing.assert_allclose(_weights(last, [1.0, 2.0, 3.0]), [0, 0, 1])
    assert profile(last).text.endswith("last")


def test_learned_weights_are_a_softmax_with_an_entropy_penalty():
    weights = _weights(Learned(), [1.0, 1.0], [np.log(3.0), 0.0])
    np.testing.assert_allclose(weights, [0.75, 0.25], rtol=1e-6)
    even, one_sided = jnp.array([0.5, 0.5]), jnp.array([1.0, 0.0])
    assert float(Learned(2.0).penalty(even)) == pytest.approx(-2 * np.log(2), rel=1e-5)
    assert float(Learned(2.0).penalty(one_sided)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    ["uniform", "decay:0.75", "explicit:0.3,0.7", "proportional", "learned", "learned:0.1"],
)
def test_the_text_form_goes_there_and_back(text: str):
    assert profile(text).text == text
    assert profile(profile(text)) == profile(text)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("decy:0.5", "Did you mean 'decay'"),
        ("decay", "not of a known form"),
        ("decay:x", "not of a known form"),
        ("decay:0", "β above 0"),
        ("decay:-1", "β above 0"),
        ("explicit:0,0", "not all 0"),
        ("explicit:1,-1", "0 or more"),
        ("learned:-1", "0 or more"),
        ("uniform:3", "not of a known form"),
        ("module:function", "there are no weights"),
    ],
)
def test_bad_profiles_say_what_they_must_be(given: str, said: str):
    with pytest.raises(FarstepError, match=said):
        profile(given)


@pytest.mark.parametrize("found", [3.14, decay(0.75)])
def test_a_name_of_something_else_than_a_function_is_refused(found: object):
    with pytest.raises(FarstepError, match=f"'own:thing' is a {type(found).__name__}"):
        profile("own:thing", lambda name: found)  # type: ignore[arg-type, return-value]  # noqa: ARG005


def test_functions_typed_at_a_prompt_are_told_apart():
    made = [eval(text) for text in ("lambda x: x / 2", "lambda x: x / 3", "lambda x: x / 2")]
    sources = [profile(one).source for one in made]
    assert sources[0] == sources[2] != sources[1]


def test_a_function_is_known_by_its_source_and_other_profiles_by_their_text():
    def halves(losses: Losses) -> Losses:
        return losses / 2

    assert "return losses / 2" in profile(halves).source
    assert profile(decay(0.5)).source == ""
    assert profile(jnp.ones_like).source != ""
