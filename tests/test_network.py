"""The network's parts: initialisation, batch normalisation's statistics, dropout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.dynamics.dropout import keep_mask
from farstep.dynamics.network import NetworkShape, create_network, draw_linear, evaluate, train


def _network(**changes: object):
    shape = NetworkShape(**{"width": 32, "dropout": 0.0, **changes})  # type: ignore[arg-type]
    network, statistics = create_network(jax.random.key(0), 3, 2, shape)
    return network, statistics, shape


def test_it_has_the_shapes_and_scale_that_are_asked_for():
    network, statistics, _ = _network(width=64, depth=3)
    assert [layer.weight.shape for layer in network.layers] == [(3, 64), (64, 64), (64, 64)]
    assert network.head_weight.shape == (2, 64)
    assert len(statistics) == 3
    assert np.abs(network.layers[1].weight).max() <= 1 / 8
    assert network.layers[1].weight.std() == pytest.approx(1 / 8 / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (6, 128), (40, 50), (128, 128)])
def test_layers_are_drawn_as_by_jax_itself(n: int, m: int):
    weight, bias = draw_linear(jax.random.key(3), n, m)
    keys, limit = jax.random.split(jax.random.key(3)), n**-0.5
    for drawn, key, shape in ((weight, keys[0], (n, m)), (bias, keys[1], (m,))):
        expected = jax.random.uniform(key, shape, minval=-limit, maxval=limit)
        np.testing.assert_array_equal(drawn, expected)


def test_batch_normalisation_uses_the_batch_in_training_and_moves_the_running_statistics():
    network, statistics, shape = _network(depth=1)
    x = jax.random.normal(jax.random.key(1), (50, 3)) * 3 + 1
    before = np.asarray(x @ network.layers[0].weight, np.float64)
    output, after = train(network, statistics, x, shape, jax.random.key(2))
    normal = (before - before.mean(0)) / np.sqrt(before.var(0) + 1e-5)
    expected = np.tanh(normal) @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)
    np.testing.assert_allclose(output, expected, atol=1e-4)
    np.testing.assert_allclose(after[0].mean, 0.1 * before.mean(0), atol=1e-5)
    np.testing.assert_allclose(after[0].variance, 0.9 + 0.1 * before.var(0, ddof=1), rtol=1e-4)


def test_evaluation_uses_the_running_statistics_and_no_dropout():
    network, statistics, shape = _network(dropout=0.5)
    x = jax.random.normal(jax.random.key(1), (50, 3))
    alone = evaluate(network, statistics, x[0], shape)
    together = evaluate(network, statistics, x, shape)[0]
    np.testing.assert_allclose(alone, together, rtol=1e-5)


@pytest.mark.parametrize("normalisation", ["batch", "layer", "none"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "silu", "gelu"])
def test_every_combination_trains_and_evaluates(normalisation: str, activation: str):
    network, statistics, shape = _network(normalisation=normalisation, activation=activation)
    x = jax.random.normal(jax.random.key(1), (8, 3))
    output, after = train(network, statistics, x, shape, jax.random.key(2))
    assert np.isfinite(output).all()
    if normalisation != "batch":
        np.testing.assert_allclose(output, evaluate(network, after, x, shape), rtol=1e-5)


def test_layer_normalisation_normalises_each_row():
    network, statistics, shape = _network(normalisation="layer", activation="relu", depth=1)
    x = jax.random.normal(jax.random.key(1), (8, 3))
    hidden = np.asarray(x @ network.layers[0].weight + network.layers[0].bias, np.float64)
    middle, spread = hidden.mean(1, keepdims=True), hidden.std(1, keepdims=True)
    normal = np.maximum((hidden - middle) / np.sqrt(spread**2 + 1e-5), 0)
    expected = normal @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)
    np.testing.assert_allclose(evaluate(network, statistics, x, shape), expected, atol=1e-5)


def test_dropout_keeps_the_stated_share():
    for rate in (0.1, 0.5):
        mask = np.asarray(keep_mask(jax.random.key(0), 0, (400, 256), rate))
        assert mask.mean() == pytest.approx(
            1 - rate, abs=5 * np.sqrt(rate * (1 - rate) / mask.size)
        )
        # No unit and no row is favoured.
        for axis in (0, 1):
            spread = mask.mean(axis=axis).std()
            assert spread == pytest.approx(np.sqrt(rate * (1 - rate) / mask.shape[axis]), rel=0.25)


def test_dropout_differs_by_key_layer_and_place():
    masks = [
        np.asarray(keep_mask(key, layer, (64, 256), 0.5)).ravel()
        for key in jax.random.split(jax.random.key(0), 3)
        for layer in (0, 1)
    ]
    correlation = np.corrcoef(np.stack(masks)) - np.eye(len(masks))
    assert np.abs(correlation).max() < 5 / np.sqrt(masks[0].size)
    lags = [np.corrcoef(masks[0][lag:], masks[0][:-lag])[0, 1] for lag in (1, 2, 255, 256, 257)]
    assert np.abs(lags).max() < 5 / np.sqrt(masks[0].size)


def test_dropout_is_in_the_training_pass_only():
    network, statistics, shape = _network(dropout=0.5, normalisation="none", depth=1)
    x = jnp.ones((4, 3))
    one, _ = train(network, statistics, x, shape, jax.random.key(0))
    two, _ = train(network, statistics, x, shape, jax.random.key(1))
    assert not np.allclose(one, two)
    assert not np.allclose(one[0], one[1])


def test_dropout_keeps_the_mean():
    """Of what a layer gives, so after the only hidden one that of the output too."""
    network, statistics, shape = _network(dropout=0.5, normalisation="none", depth=1)
    rows = jnp.ones((20_000, 3))
    outputs = np.asarray(train(network, statistics, rows, shape, jax.random.key(0))[0])
    error = outputs.std(0) / np.sqrt(len(rows))
    difference = outputs.mean(0) - np.asarray(evaluate(network, statistics, rows[0], shape))
    assert (error > 0).all()
    assert (np.abs(difference) < 5 * error).all()
