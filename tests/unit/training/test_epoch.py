"""One epoch: which windows it uses, and what its updates equal."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cart
from farstep.data.episodes import Episode, Episodes
from farstep.data.windows import Windows
from farstep.models.network import forward_in_training
from farstep.models.network_dynamics import NetworkDynamics
from farstep.training.config import fit_config
from farstep.training.epoch import (
    EpochRecord,
    TrainingState,
    batch_sizes,
    initial_state,
    running_losses,
    train_epoch,
)
from farstep.training.objective import horizon_losses
from farstep.training.optimiser import along_cosine, optimiser
from farstep.training.trainer import Trainer
from farstep.training.validation import mean_over

KEY = jax.random.key(0)
SMALL: dict[str, Any] = {"width": 16, "dropout": 0.0, "normalisation": "none"}


def trainer(data: Episodes, **settings: Any) -> Trainer:
    return Trainer(data, data, fit_config("paper", **{**SMALL, **settings}))


def epoch(
    given: Trainer, dynamics: NetworkDynamics | None = None, **changes: Any
) -> tuple[NetworkDynamics, TrainingState, EpochRecord]:
    """Return the model before, the state after one epoch, and the record of it."""
    dynamics = given.new_member(KEY) if dynamics is None else dynamics
    state = initial_state(dynamics, given.config.horizon, given.program)._replace(**changes)
    chosen = jnp.asarray(np.arange(len(given.windows)))
    after = train_epoch(state, dynamics, given.windows, chosen, KEY, given.program, given.total)
    return dynamics, *after


def close(ours: Any, expected: Any, **tolerance: Any) -> None:
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@given(st.integers(1, 500), st.integers(1, 70))
def test_batches_are_few_and_their_sizes_differ_by_at_most_one(windows: int, batch_size: int):
    sizes = batch_sizes(windows, batch_size)
    assert sum(size * count for size, count in sizes) == windows
    assert sum(count for _, count in sizes) == -(-windows // batch_size)
    assert max(size for size, _ in sizes) <= batch_size
    assert max(size for size, _ in sizes) - min(size for size, _ in sizes) <= 1


def test_every_window_is_used_exactly_once(monkeypatch: pytest.MonkeyPatch):
    """Episodes of different lengths, and batches of two sizes."""
    data = Episodes.from_list(
        [
            Episode(episode.observations[: n + 1], episode.actions[:n])
            for episode, n in zip(cart.data(), (5, 9, 3, 12), strict=True)
        ]
    )
    gathered: list[int] = []
    gather = Windows.gather

    def recording(self: Windows, index: jax.Array) -> tuple[jax.Array, jax.Array]:
        jax.debug.callback(lambda index: gathered.extend(index.tolist()), index)
        return gather(self, index)

    monkeypatch.setattr(Windows, "gather", recording)
    # No other test has this learning rate, so the program is traced here.
    jax.block_until_ready(epoch(trainer(data, horizon=3, batch_size=4, learning_rate=0.00123)))
    jax.effects_barrier()
    assert sorted(gathered) == list(range(data.num_windows(3))) == list(range(21))


@pytest.mark.parametrize(("horizon", "schedule"), [(1, "constant"), (3, "cosine")])
def test_an_epoch_is_a_loop_over_batches_written_by_hand(
    cart_data: Episodes, horizon: int, schedule: str
):
    """The same losses and parameters: with h = 1 this is ordinary training."""
    size = (21 - horizon) * 2  # two batches
    given = trainer(
        cart_data,
        horizon=horizon,
        weights="decay:0.5",
        batch_size=size,
        schedule=schedule,
        epochs=1,
        dropout=0.2,
        # With batch normalisation a bias has no gradient, and Adam would follow rounding errors.
        normalisation="layer",
    )
    dynamics, after, record = epoch(given)

    order_key, update_key = jax.random.split(KEY)
    order = np.asarray(jax.random.permutation(order_key, np.arange(len(given.windows))))
    keys = jax.random.split(update_key, (64, horizon))
    alphas = 0.5 ** np.arange(horizon) / sum(0.5 ** np.arange(horizon))
    normalizer, shape, adam = given.normalizer, dynamics.shape, optax.adam(1e-3)

    def loss(network, states, actions, keys):
        state, losses = states[0], []
        for j in range(horizon):
            x = normalizer.inputs(state, actions[j])
            y, _ = forward_in_training(network, dynamics.statistics, x, shape, keys[j])
            state = normalizer.target_mean + normalizer.target_std * y
            errors = (state - states[j + 1]) / normalizer.observation_std
            losses.append(jnp.square(errors).mean())
        return jnp.asarray(alphas, jnp.float32) @ jnp.stack(losses), jnp.stack(losses)

    network, means = dynamics.network, []
    moments = adam.init(eqx.filter(network, eqx.is_array))
    slope = jax.jit(jax.grad(loss, has_aux=True))
    shares = [1.0, 0.5] if schedule == "cosine" else [1.0, 1.0]
    for batch, batch_keys, share in zip(order.reshape(2, size), keys[:2], shares, strict=True):
        windows = (np.swapaxes(part, 0, 1) for part in given.windows.gather(jnp.asarray(batch)))
        gradient, losses = slope(network, *windows, batch_keys)
        changes, moments = adam.update(gradient, moments)
        network = jax.tree.map(lambda old, change, s=share: old + s * change, network, changes)
        means.append(np.asarray(losses))
    np.testing.assert_allclose(record.losses, np.mean(means, axis=0), rtol=1e-4)
    close(after.trained.network, network, atol=2e-5)


def test_the_networks_gradient_agrees_with_finite_differences(cart_data: Episodes):
    given = trainer(cart_data, horizon=4, normalisation="layer")
    dynamics = given.new_member(KEY)
    windows = given.windows.gather(jnp.asarray(np.arange(8)))
    states, actions = (jnp.swapaxes(part, 0, 1) for part in windows)
    keys = jax.random.split(KEY, 4)

    @jax.jit
    def objective(network):
        model = eqx.tree_at(lambda d: d.network, dynamics, network)
        scale = given.normalizer.observation_std
        losses, _ = horizon_losses(
            model.train_step, dynamics.statistics, states, actions, keys, scale, given.program
        )
        return losses.mean()

    rng = np.random.default_rng(0)
    leaves, form = jax.tree.flatten(dynamics.network)
    direction = [rng.normal(size=leaf.shape).astype(np.float32) for leaf in leaves]
    gradient = jax.tree.leaves(jax.grad(objective)(dynamics.network))
    expected = sum(float(np.vdot(g, d)) for g, d in zip(gradient, direction, strict=True))

    def moved(step: float) -> float:
        arrays = [np.asarray(leaf) + step * d for leaf, d in zip(leaves, direction, strict=True)]
        return float(objective(jax.tree.unflatten(form, [jnp.asarray(one) for one in arrays])))

    assert (moved(1e-3) - moved(-1e-3)) / 2e-3 == pytest.approx(expected, rel=1e-2)


def test_running_losses_start_with_the_first_batch_and_move_by_a_hundredth():
    old, new = (jnp.asarray(v, jnp.float32) for v in ([1.0, 2.0], [3.0, 1.0]))
    found = [running_losses(old, new, jnp.asarray(np.int32(n))) for n in (0, 1, 9)]
    np.testing.assert_allclose(found, [[3.0, 1.0], [1.02, 1.99], [1.02, 1.99]], rtol=1e-6)


def test_no_gradient_flows_through_proportional_weights(cart_data: Episodes):
    """The gradient is that of the same weights when they are given."""
    settings = {"horizon": 2, "batch_size": 1000}
    _, after, record = epoch(trainer(cart_data, weights="proportional", **settings))
    inverse = 1 / np.asarray(record.losses)
    np.testing.assert_allclose(record.weights, inverse / inverse.sum(), rtol=1e-5)
    given = "explicit:" + ",".join(map(str, np.asarray(record.weights)))
    _, _, expected = epoch(trainer(cart_data, weights=given, **settings))
    assert float(record.gradient_norm) == pytest.approx(float(expected.gradient_norm), rel=1e-4)
    assert int(after.updates) == 1


def test_a_cosine_lets_updates_fall_to_zero():
    changes, total = jnp.asarray(np.array([2.0], np.float32)), jnp.asarray(8.0)
    shares = [float(along_cosine(changes, jnp.asarray(n), total)[0]) for n in (0, 3, 4, 8, 9)]
    rate = optax.cosine_decay_schedule(2.0, 8)
    assert shares == pytest.approx([2.0, np.asarray(rate(3)).item(), 1.0, 0.0, 0.0], abs=1e-6)
    assert along_cosine(changes, jnp.asarray(3), None) is changes


@pytest.mark.parametrize("windows", [1, 64, 700])
def test_a_mean_over_windows_is_without_the_padding(windows: int):
    """One window; one full block with padding after it; and two blocks, of which one is full."""
    given = Windows.of(cart.data(1, windows), 1, room=True)
    found = mean_over(lambda number: given.starts[number] + jnp.ones(2), given)
    np.testing.assert_allclose(found, np.full(2, (windows - 1) / 2 + 1), rtol=1e-6)


def test_weight_decay_shrinks_weights_but_no_biases():
    weights = {"layer": np.array([[1.0, -2.0]], np.float32), "logits": np.array([3.0], np.float32)}
    weights: Any = jax.tree.map(jnp.asarray, weights)
    adam = optimiser(0.1, None, 0.5)
    still: Any = jax.tree.map(jnp.zeros_like, weights)
    changes: Any = adam.update(still, adam.init(weights), weights)[0]
    np.testing.assert_allclose(changes["layer"], -0.1 * 0.5 * weights["layer"], rtol=1e-6)
    np.testing.assert_array_equal(changes["logits"], 0.0)


@pytest.mark.parametrize(("updates", "kept"), [(0, 0.1), (100_000, 0.9)])
def test_the_running_average_is_between_old_and_new_weights(
    cart_data: Episodes, updates: int, kept: float
):
    """One update an epoch, so that the weights before and after it are known."""
    given = trainer(cart_data, batch_size=1000, ema_decay=0.9)
    before, after, _ = epoch(given, updates=jnp.asarray(np.int32(updates)))
    expected = jax.tree.map(
        lambda old, new: kept * old + (1 - kept) * new, before.network, after.trained.network
    )
    close(after.ema, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("target", "expected"), [("delta", 0.3**2), ("next", 0.0)])
def test_input_noise_is_on_the_first_state_alone(target: str, expected: float):
    """A model that predicts no change errs by the noise; one that ignores its input does not."""
    still = Episodes.from_list([Episode(np.zeros((401, 2), np.float32), np.zeros((400, 1)))])
    given = trainer(still, target=target, depth=0, batch_size=400, input_noise=0.3)
    new = given.new_member(KEY)
    silent = eqx.tree_at(lambda d: d.network, new, jax.tree.map(jnp.zeros_like, new.network))
    _, _, record = epoch(given, silent)
    assert float(record.losses[0]) == pytest.approx(expected, rel=0.15)


def test_the_loss_is_in_units_of_the_observations_or_of_the_target():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(200, 1)), axis=0).astype(np.float32)
    data = Episodes.from_list([Episode(walk, np.zeros((199, 1), np.float32))])
    observation, target = (
        epoch(trainer(data, target="delta", batch_size=1000, loss_scale=scale))[2].losses
        for scale in ("observation", "target")
    )
    ratio = (walk.std() / np.diff(walk, axis=0).std()) ** 2
    np.testing.assert_allclose(np.asarray(target) / observation, ratio, rtol=1e-4)


def test_an_observer_predicts_with_the_running_statistics(cart_data: Episodes):
    """Training itself normalises by each batch, so only the observer can make a difference."""
    given = trainer(cart_data, normalisation="batch", observer_steps=3, batch_size=1000)
    _, _, record = epoch(given)
    start = given.new_member(KEY).statistics
    moved = jax.tree.map(lambda leaf: leaf + 1.0, start)
    assert not np.allclose(record.losses, epoch(given, statistics=moved)[2].losses)
    plain = trainer(cart_data, normalisation="batch", batch_size=1000)
    expected, found = (epoch(plain, statistics=one)[2].losses for one in (start, moved))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
