"""`examples/multistep_model.py` is the library's method in one file: both give the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import multistep_model as example
from farstep import Episode, Episodes, Signals
from farstep.evaluation.rollout_errors import rollout_errors
from farstep.models.network import Layer, Network, NetworkShape
from farstep.models.network_dynamics import NetworkDynamics
from farstep.models.normalizer import Normalizer
from farstep.training.objective import CompiledConfig, horizon_losses
from farstep.training.weights import decay

WIDTH, HORIZON = 8, 4
SHAPE = NetworkShape(WIDTH, 2, activation="silu", normalisation="none", dropout=0.0)


@pytest.fixture(scope="module")
def data():
    """Episodes of the example's pendulum, as arrays and as the library's."""
    states, actions = example.pendulum(2, seed=0)
    pairs = zip(states, actions, strict=True)
    return (
        states,
        actions,
        Episodes.from_list([Episode(s, a) for s, a in pairs], Signals.unnamed(3, 1)),
    )


@pytest.fixture(scope="module")
def layers():
    return example.create(jax.random.key(0), (4, WIDTH, WIDTH, 3))


@pytest.fixture(scope="module")
def scale(data):
    states, actions, _ = data
    parts = {"state": states, "action": actions, "delta": np.diff(states, axis=1)}
    found = {f"{name}_mean": values.mean((0, 1)) for name, values in parts.items()}
    return found | {f"{name}_std": values.std((0, 1)) for name, values in parts.items()}


def library_model(layers, episodes):
    """Return the library's model with the example's weights."""
    normalizer = Normalizer.of(episodes, "delta", 1)
    model = NetworkDynamics.create(jax.random.key(1), normalizer, SHAPE, target="delta")
    hidden = tuple(
        Layer(weight, bias, scale=jnp.ones(WIDTH), shift=jnp.zeros(WIDTH))
        for weight, bias in layers[:-1]
    )
    weight, bias = layers[-1]
    object.__setattr__(model, "network", Network(hidden, weight.T, bias))
    return model


def test_weights_agree():
    np.testing.assert_allclose(example.decay(0.75, HORIZON), decay(0.75).fixed(HORIZON), atol=1e-6)


def test_loss_and_gradient_agree(data, layers, scale):
    states, actions, episodes = data
    alpha = jnp.asarray(example.decay(0.75, HORIZON))
    state_windows = jnp.asarray(example.windows(states, HORIZON + 1)[:, :32], jnp.float32)
    action_windows = jnp.asarray(example.windows(actions, HORIZON)[:, :32], jnp.float32)

    def library_loss(layers):
        model = library_model(layers, episodes)

        def step(carry, state, action, key):
            return model.train_step(carry, state, action, key)

        keys = jax.random.split(jax.random.key(2), HORIZON)
        std = model.normalizer.observation_std
        losses, _ = horizon_losses(
            step, model.statistics, state_windows, action_windows, keys, std, CompiledConfig()
        )
        return alpha @ losses.mean(axis=1)

    ours = jax.value_and_grad(library_loss)(layers)
    theirs = jax.value_and_grad(example.loss)(layers, scale, alpha, state_windows, action_windows)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_r_squared_agrees(data, layers, scale):
    states, actions, episodes = data
    measured = rollout_errors([library_model(layers, episodes)], episodes, 20).r_squared[0, 0]
    for horizon in (1, 20):  # the example uses the windows of its last horizon for all of them
        expected = example.r_squared(layers, scale, states, actions, horizon)[-1]
        np.testing.assert_allclose(measured[horizon - 1].mean(), expected, atol=1e-5)
