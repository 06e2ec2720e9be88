"""Intervals and comparisons, against their closed forms and their coverage."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from farstep.evaluation.metrics import half_width
from reproduction.statistics import (
    compare,
    correlation,
    gaussian_half_width,
    interquartile_mean,
    with_half,
)


def test_the_gaussian_interval_is_the_papers():
    values = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    expected = norm.ppf(0.95) * values.std(0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(gaussian_half_width(values), expected)
    assert (gaussian_half_width(values) < half_width(values)).all()
    assert np.isnan(gaussian_half_width(values[:1])).all()


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    values = np.array([[-1000.0, 2.0], [1.0, 3.0], [2.0, 4.0], [3.0, 9000.0]])
    found = interquartile_mean(values)
    assert found.value == np.mean([2.0, 2.0, 3.0, 3.0])
    assert found.low <= found.value <= found.high
    constant = interquartile_mean(np.full((3, 4), 7.0))
    assert (constant.value, constant.low, constant.high) == (7.0, 7.0, 7.0)


def test_the_bootstrap_draws_seeds_within_tasks():
    """Seeds that agree leave nothing to chance, however much the tasks differ."""
    values = np.tile([0.0, 100.0, 1000.0], (5, 1))
    found = interquartile_mean(values)
    assert found.low == found.value == found.high


def test_a_paired_comparison_sees_what_the_seeds_share():
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 100, (10, 4))
    found = compare(shared + 1 + rng.normal(0, 0.1, shared.shape), shared)
    assert 0.9 < found.difference.low < 1 < found.difference.high < 1.1
    assert found.wins == 1
    same = compare(shared, shared)
    assert (same.difference.value, same.wins) == (0.0, 0.5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(100):
        found = compare(rng.normal(1, 1, (30, 1)), rng.normal(0, 1, (30, 1)))
        hits += found.difference.low <= 1 <= found.difference.high
    assert 80 <= hits <= 97


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 30), st.integers(0, 1000))
def test_correlation_is_pearsons(count: int, seed: int):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, count))
    found = correlation(x, y)
    np.testing.assert_allclose(found.value, np.corrcoef(x, y)[0, 1], atol=1e-12)
    assert -1 <= found.low <= found.high <= 1


def test_a_constant_has_no_correlation():
    assert np.isnan(correlation(np.ones(5), np.arange(5.0)).value)
    assert np.isnan(correlation(np.arange(2.0), np.arange(2.0)).value)


def test_a_mean_of_one_value_has_no_interval():
    assert with_half(842.4, 36.2) == "842 ± 36"
    assert with_half(842.4, float("nan")) == "842"
