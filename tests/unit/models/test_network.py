"""The network's parts: initialisation, normalisation, residual layers and dropout."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.models.network import (
    Network,
    NetworkShape,
    Statistics,
    create_network,
    draw_linear,
    forward,
    forward_in_training,
    keep_mask,
)

KEY = jax.random.key(0)
ROWS = np.random.default_rng(0).normal(1.0, 3.0, size=(50, 3)).astype(np.float32)
NUMPY_ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def _network(**changes: object) -> tuple[Network, tuple[Statistics, ...], NetworkShape]:
    shape = NetworkShape(**{"width": 32, "dropout": 0.0, **changes})  # pyright: ignore[reportArgumentType]
    return *create_network(KEY, 3, 2, shape), shape


def _normalised(x: np.ndarray, axis: int) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def _expected(network: Network, shape: NetworkShape, x: np.ndarray) -> np.ndarray:
    """Return the output in training without dropout, in NumPy's float64."""
    x = x.astype(np.float64)
    for number, layer in enumerate(network.layers):
        hidden = x @ np.asarray(layer.weight) + np.asarray(layer.bias)
        if shape.normalisation != "none":
            hidden = _normalised(hidden, axis=0 if shape.normalisation == "batch" else 1)
        hidden = NUMPY_ACTIVATIONS[shape.activation](hidden)
        x = x + hidden if shape.residual and number else hidden
    return x @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)


def test_the_shapes_and_the_scale_of_a_new_network():
    network, statistics, _ = _network(width=64, depth=3)
    assert [layer.weight.shape for layer in network.layers] == [(3, 64), (64, 64), (64, 64)]
    assert network.head_weight.shape == (2, 64)
    assert len(statistics) == 3
    weight = np.asarray(network.layers[1].weight)
    assert np.abs(weight).max() <= 1 / 8
    assert weight.std() == pytest.approx(1 / 8 / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (40, 50)])
def test_layers_are_drawn_as_by_jax_itself(n: int, m: int):
    weight, bias = draw_linear(jax.random.key(3), n, m)
    keys, limit = jax.random.split(jax.random.key(3)), n**-0.5
    for drawn, key, shape in ((weight, keys[0], (n, m)), (bias, keys[1], (m,))):
        expected = jax.random.uniform(key, shape, minval=-limit, maxval=limit)
        np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("normalisation", ["batch", "layer", "none"])
@pytest.mark.parametrize(
    ("activation", "residual"), [("tanh", False), ("relu", True), ("silu", True), ("gelu", False)]
)
def test_training_is_the_formula(normalisation: str, activation: str, residual: bool):
    network, statistics, shape = _network(
        normalisation=normalisation, activation=activation, residual=residual
    )
    output, after = forward_in_training(network, statistics, jnp.asarray(ROWS), shape, KEY)
    np.testing.assert_allclose(output, _expected(network, shape, ROWS), atol=1e-4)
    if normalisation != "batch":
        same = forward(network, after, jnp.asarray(ROWS), shape)
        np.testing.assert_allclose(same, output, rtol=1e-5, atol=1e-6)


def test_a_batch_moves_the_running_statistics_by_a_tenth():
    network, statistics, shape = _network(depth=1)
    hidden = ROWS.astype(np.float64) @ np.asarray(network.layers[0].weight)
    _, after = forward_in_training(network, statistics, jnp.asarray(ROWS), shape, KEY)
    np.testing.assert_allclose(after[0].mean, 0.1 * hidden.mean(0), atol=1e-5)
    np.testing.assert_allclose(after[0].variance, 0.9 + 0.1 * hidden.var(0, ddof=1), rtol=1e-4)


def test_outside_training_the_running_statistics_are_used():
    network, _, shape = _network(depth=1, dropout=0.5)
    mean, variance = np.linspace(-1, 1, 32), np.linspace(0.5, 2, 32)
    running = (Statistics(*(jnp.asarray(v, jnp.float32) for v in (mean, variance))),)
    found = forward(network, running, jnp.asarray(ROWS), shape)
    hidden = ROWS @ np.asarray(network.layers[0].weight)
    hidden = np.tanh((hidden - mean) / np.sqrt(variance + 1e-5))
    expected = hidden @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    alone = forward(network, running, jnp.asarray(ROWS[0]), shape)
    np.testing.assert_allclose(alone, expected[0], atol=1e-5)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_drops_its_share_without_favour(rate: float):
    mask = np.asarray(keep_mask(KEY, 0, (400, 256), rate))
    spread = np.sqrt(rate * (1 - rate))
    assert mask.mean() == pytest.approx(1 - rate, abs=5 * spread / np.sqrt(mask.size))
    for axis in (0, 1):
        expected = spread / np.sqrt(mask.shape[axis])
        assert mask.mean(axis=axis).std() == pytest.approx(expected, rel=0.25)


def test_dropout_masks_are_independent_between_keys_layers_and_units():
    masks = [
        np.asarray(keep_mask(key, layer, (64, 256), 0.5)).ravel()
        for key, layer in itertools.product(jax.random.split(KEY, 3), (0, 1))
    ]
    correlation = np.corrcoef(np.stack(masks)) - np.eye(len(masks))
    assert np.abs(correlation).max() < 5 / np.sqrt(masks[0].size)
    lags = [np.corrcoef(masks[0][lag:], masks[0][:-lag])[0, 1] for lag in (1, 2, 255, 256, 257)]
    assert np.abs(lags).max() < 5 / np.sqrt(masks[0].size)


def test_dropout_varies_by_key_and_row_and_keeps_the_mean():
    """It keeps the mean of a layer's output, so of a linear head's after one layer too."""
    network, statistics, shape = _network(dropout=0.5, normalisation="none", depth=1)
    rows = jnp.asarray(np.ones((20_000, 3), np.float32))
    one, other = (
        np.asarray(forward_in_training(network, statistics, rows, shape, key)[0])
        for key in jax.random.split(KEY)
    )
    assert not np.allclose(one[0], one[1])
    assert not np.allclose(one[0], other[0])
    error = one.std(0) / np.sqrt(len(rows))
    difference = one.mean(0) - np.asarray(forward(network, statistics, rows[0], shape))
    assert (error > 0).all()
    assert (np.abs(difference) < 5 * error).all()
