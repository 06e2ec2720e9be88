"""Fitting: what an epoch uses, what it equals, when it stops, and the command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from farstep.datasets.reading import write
from farstep.dynamics.ensemble import Ensemble
from farstep.dynamics.network import train as train_network
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import FarstepError
from farstep.fitting.config import fit_config
from farstep.fitting.fit import FitRun, fit
from farstep.fitting.optimiser import along_cosine
from farstep.fitting.training import batch_sizes, initial_state, train_epoch, train_part
from farstep.fitting.validation import mean_over
from farstep.model import load_model
from farstep.scoring.errors import mean_r_squared, r_squared
from farstep.weights import decay, profile
from farstep.windows import Windows
from pendulum import TINY, pendulum


def _arrays(tree: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_more_steps_ahead_make_a_model_that_is_better_far_out():
    train, validation, test = pendulum(30), pendulum(4, seed=1), pendulum(6, seed=2)
    settings: dict[str, Any] = {"config": "paper", "width": 32, "epochs": 30, "dropout": 0.0}
    settings["normalisation"] = "none"
    far = {}
    for horizon in (1, 8):
        model = fit(train, validation, horizon=horizon, target="delta", **settings)
        far[horizon] = mean_r_squared(r_squared(model.dynamics, test, 40))
    assert far[1][0] > 0.99
    assert far[8][0] > 0.99
    assert far[8][-1] > far[1][-1]


@given(st.integers(1, 500), st.integers(1, 70))
def test_batches_are_as_few_as_possible_and_differ_by_at_most_one(windows: int, batch: int):
    sizes = batch_sizes(windows, batch)
    assert sum(size * count for size, count in sizes) == windows
    assert sum(count for _, count in sizes) == -(-windows // batch)
    assert max(size for size, _ in sizes) <= batch
    assert max(size for size, _ in sizes) - min(size for size, _ in sizes) <= 1


def test_every_window_contributes_exactly_once_an_epoch(monkeypatch: pytest.MonkeyPatch):
    """Episodes of different lengths: the rows that an epoch gathers are all windows, once each."""
    lengths = (5, 9, 3, 12)
    whole = pendulum(4, 12)
    data = Episodes.from_list(
        [
            Episode(episode.states[: n + 1], episode.actions[:n])
            for episode, n in zip(whole, lengths, strict=True)
        ]
    )
    run = FitRun(data, data, fit_config("paper", horizon=3, width=16, batch=4), profile("uniform"))
    gathered: list[int] = []
    gather = Windows.gather

    def recording(self: Windows, index: jax.Array):
        jax.debug.callback(lambda index: gathered.extend(index.tolist()), index)
        return gather(self, index)

    monkeypatch.setattr(Windows, "gather", recording)
    dynamics = NetworkDynamics.create(jax.random.key(0), run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, 3, run.recipe)
    chosen = jnp.arange(len(run.windows))
    jax.block_until_ready(
        train_epoch(state, dynamics, run.windows, chosen, jax.random.key(1), run.recipe)
    )
    jax.effects_barrier()
    assert sorted(gathered) == list(range(data.num_windows(3)))


def test_one_step_ahead_is_ordinary_training():
    """The same losses and weights as a hand-written one-step loop over the same batches."""
    data = pendulum(2, 40)
    # With batch normalisation a bias has no gradient, and Adam moves it by rounding errors.
    config = fit_config("paper", width=16, batch=16, dropout=0.2, normalisation="layer")
    run = FitRun(data, data, config, profile("uniform"))
    dynamics = NetworkDynamics.create(jax.random.key(0), run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, 1, run.recipe)
    key, n = jax.random.key(5), len(run.windows)
    after, record = train_epoch(state, dynamics, run.windows, jnp.arange(n), key, run.recipe)

    order_key, update_key = jax.random.split(key)
    order = np.asarray(jax.random.permutation(order_key, jnp.arange(n)))
    keys = jax.random.split(update_key, (n // 16, 1))
    before = np.concatenate([episode.states[:-1] for episode in data])
    later = np.concatenate([episode.states[1:] for episode in data])
    scaling, adam = run.scaling, optax.adam(1e-3)
    network, statistics, losses = dynamics.network, dynamics.statistics, []
    moments = adam.init(eqx.filter(network, eqx.is_array))
    for batch, batch_key in zip(order.reshape(-1, 16), keys, strict=True):
        x = scaling.inputs(jnp.asarray(before[batch]), jnp.asarray(data.actions[batch]))

        def loss(network, x=x, batch=batch, batch_key=batch_key, statistics=statistics):
            y, moved = train_network(network, statistics, x, run.form.network, batch_key[0])
            error = scaling.target_mean + scaling.target_std * y - later[batch]
            return jnp.mean((error / scaling.state_std) ** 2), moved

        (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(network)
        change, moments = adam.update(gradient, moments)
        network = jax.tree.map(jnp.add, network, change)
        losses.append(float(value))
    assert float(record.losses[0]) == pytest.approx(np.mean(losses), rel=1e-4)
    for ours, expected in zip(_arrays(after.trained.network), _arrays(network), strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_the_networks_gradient_agrees_with_finite_differences():
    data = pendulum(2, 20)
    settings = {"width": 8, "dropout": 0.0, "normalisation": "layer", "weights": "decay:0.8"}
    config = fit_config("paper", horizon=4, **settings)
    run = FitRun(data, data, config, profile(config.weights))
    dynamics = NetworkDynamics.create(jax.random.key(0), run.scaling, run.form, 1, 0.1)
    states, actions = run.windows.gather(jnp.arange(8))
    keys = jax.random.split(jax.random.key(0), 4)
    weights = run.profile.weights(jnp.ones(4), jnp.zeros(4))

    def objective(network):
        from farstep.objective import horizon_losses

        model = eqx.tree_at(lambda d: d.network, dynamics, network)
        losses, _ = horizon_losses(
            model.train_step,
            dynamics.statistics,
            jnp.swapaxes(states, 0, 1),
            jnp.swapaxes(actions, 0, 1),
            keys,
            run.scaling.state_std,
            run.recipe.objective,
        )
        return weights @ losses.mean(axis=1)

    gradient = jax.grad(objective)(dynamics.network)
    direction = jax.tree.map(
        lambda leaf: jax.random.normal(jax.random.key(leaf.size), leaf.shape), dynamics.network
    )
    expected = sum(
        float(jnp.vdot(g, d))
        for g, d in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True)
    )
    step = 1e-3

    def moved(sign: int):
        return jax.tree.map(lambda leaf, d: leaf + sign * step * d, dynamics.network, direction)

    difference = (float(objective(moved(1))) - float(objective(moved(-1)))) / (2 * step)
    assert difference == pytest.approx(expected, rel=1e-2)


def test_nothing_is_compiled_again_between_epochs():
    """A user's profile is Python, run only while a program is traced."""

    def traced_calls(epochs: int) -> int:
        calls = 0

        def counting(losses: jax.Array) -> jax.Array:
            nonlocal calls
            calls += 1
            return jnp.ones_like(losses)

        settings = {**TINY, "epochs": epochs}
        fit(pendulum(3), pendulum(1), horizon=3, weights=counting, **settings)
        return calls

    assert traced_calls(6) == traced_calls(1)


def test_nothing_is_compiled_again_for_an_episode_more():
    """190 and 228 windows in batches of 38: room for 256, as for 205 and 246 states."""

    def programs(episodes: int) -> int:
        train = pendulum(episodes, 40)
        fit(train, pendulum(1, 40), horizon=3, **{**TINY, "batch": 38, "schedule": "cosine"})
        return train_part._cache_size()  # pyright: ignore

    assert programs(6) == programs(5)


def test_weights_that_never_change_share_a_program():
    def programs(weights: str) -> int:
        fit(pendulum(3), pendulum(1), horizon=3, weights=weights, **TINY)
        return train_part._cache_size()  # pyright: ignore

    first = programs("decay:0.75")
    assert first == programs("uniform") == programs("decay:0.3") == programs("explicit:1,0,2")


def test_a_cosine_lets_updates_fall_to_nothing():
    changes = jnp.array([2.0])
    shares = [
        float(along_cosine(changes, jnp.asarray(done), jnp.asarray(8.0))[0]) for done in (0, 4, 8)
    ]
    assert shares == pytest.approx([2.0, 1.0, 0.0], abs=1e-6)
    rate = optax.cosine_decay_schedule(2.0, 8)
    assert float(along_cosine(changes, jnp.asarray(3), jnp.asarray(8.0))[0]) == pytest.approx(
        rate(3)
    )
    assert along_cosine(changes, jnp.asarray(3), None) is changes


@pytest.mark.parametrize("steps", [1, 64, 700])
def test_a_mean_over_windows_is_of_all_of_them_and_of_nothing_else(steps: int):
    """One window, one whole block with room for more, and two blocks of which one is not full."""
    windows = Windows.of(pendulum(1, steps), 1, room=True)
    found = mean_over(lambda number: windows.starts[number] + jnp.ones(2), windows)
    np.testing.assert_allclose(found, np.full(2, (steps - 1) / 2 + 1), rtol=1e-6)


def test_every_epoch_is_recorded():
    model = fit(pendulum(3), pendulum(1), horizon=2, weights=decay(0.5), **TINY)
    curve = model.record["curves"][0]
    assert len(curve["score"]) == len(curve["gradient_norm"]) == 3
    assert np.shape(curve["train"]) == np.shape(curve["validation"]) == (3, 2)
    np.testing.assert_allclose(curve["weights"], [[2 / 3, 1 / 3]] * 3, rtol=1e-5)
    assert min(curve["gradient_norm"]) > 0
    assert curve["best_epoch"] == int(np.argmin(curve["score"]))


@pytest.mark.parametrize("entropy", [0.0, 10.0])
def test_learned_weights_collapse_unless_they_are_kept_spread(entropy: float):
    settings = {**TINY, "epochs": 15, "learning_rate": 0.02, "patience": 15, "target": "delta"}
    model = fit(pendulum(4), pendulum(1), horizon=4, weights=f"learned:{entropy}", **settings)
    last = model.record["curves"][0]["weights"][-1]
    if entropy:
        np.testing.assert_allclose(last, 0.25, atol=0.02)
    else:
        assert last[0] > 0.5


def test_proportional_weights_follow_the_running_losses():
    settings = {**TINY, "epochs": 8, "target": "delta"}
    model = fit(pendulum(8), pendulum(1), horizon=3, weights="proportional", **settings)
    curve = model.record["curves"][0]
    weights, inverse = curve["weights"][-1], 1 / np.array(curve["train"][-1])
    assert sum(weights) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(weights, inverse / inverse.sum(), rtol=0.1)


@pytest.mark.parametrize("stop_on", ["one-step", "objective", "r2"])
def test_it_stops_when_the_score_does_not_get_better_and_keeps_the_best(stop_on: str):
    settings = {**TINY, "epochs": 60, "patience": 2, "learning_rate": 0.05}
    train, validation = pendulum(2, 30), pendulum(1, seed=3)
    model = fit(train, validation, horizon=2, stop_on=stop_on, r2_horizon=10, **settings)
    curve = model.record["curves"][0]
    assert len(curve["score"]) < 60
    assert len(curve["score"]) - 1 - curve["best_epoch"] == 2
    if stop_on == "r2":
        score = -float(mean_r_squared(r_squared(model.dynamics, validation, 10, 512)).mean())
        assert score == pytest.approx(min(curve["score"]), rel=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "nll"},
        {"loss": "nll", "propagation": "sample"},
        {"propagation": "sample", "fixed_std": 0.01},
        {"gradient": "truncated:1"},
        {"schedule": "cosine", "clip": 1.0},
        {"normalisation": "layer", "activation": "silu"},
        {"normalisation": "none", "depth": 3},
        {"stride": 4, "horizon": 2},
        {"bounds": 0.2, "target": "delta"},
        {"rematerialise": True},
        {"dropout": 0.3},
        {"depth": 0},
    ],
)
def test_every_switch_works(settings: dict):
    model = fit(pendulum(3), pendulum(1), **{"horizon": 3, **TINY, **settings})
    mean, std = model.rollout(np.zeros(2), np.zeros((8, 1)))
    assert mean.shape == std.shape == (8 // settings.get("stride", 1), 2)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_the_same_seed_is_the_same_model_to_the_bit():
    def weights(seed: int) -> list[np.ndarray]:
        settings = {**TINY, "dropout": 0.2, "seed": seed}
        return _arrays(fit(pendulum(3), pendulum(1), horizon=2, **settings).dynamics)

    for one, two in zip(weights(1), weights(1), strict=True):
        np.testing.assert_array_equal(one, two)
    assert any(
        not np.array_equal(one, two) for one, two in zip(weights(1), weights(2), strict=True)
    )


def test_an_ensemble_is_fitted_with_members_that_differ():
    model = fit(pendulum(3), pendulum(1), members=3, **TINY)
    assert isinstance(model.dynamics, Ensemble)
    assert len(model.record["curves"]) == 3
    each = model.dynamics.each(jnp.zeros(2), jnp.zeros(1)).mean
    assert np.asarray(each).std(axis=0).min() > 0


def test_a_fixed_deviation_is_what_validation_shows():
    train, validation = pendulum(6), pendulum(2, seed=1)
    model = fit(train, validation, **{**TINY, "epochs": 20})
    before = np.concatenate([episode.states[:-1] for episode in validation])
    after = np.concatenate([episode.states[1:] for episode in validation])
    mean, std = model.predict(before, validation.actions)
    np.testing.assert_allclose(std[0], np.sqrt(((after - mean) ** 2).mean(0)), rtol=1e-3)


def test_a_linear_model_is_fitted_in_closed_form():
    model = fit(pendulum(6), pendulum(1), model="linear")
    mean, _ = model.predict(np.array([0.1, 0.0]), np.array([0.0]))
    np.testing.assert_allclose(mean, [0.1 - 0.04 * np.sin(0.1), -0.4 * np.sin(0.1)], atol=0.02)


def test_a_fit_that_diverges_says_where_and_what_to_try():
    settings = {**TINY, "normalisation": "none", "activation": "relu", "learning_rate": 1e6}
    with pytest.raises(FarstepError, match=r"diverged in epoch \d+: the loss \d+ step.*clip=1"):
        fit(pendulum(3), pendulum(1), horizon=6, target="delta", **settings)


def test_the_command_fits_and_says_where(farstep: Callable, tmp_path: Path):
    path = write(pendulum(10), tmp_path / "data.npz")
    options = ("--preset", "paper", "--horizon", 2, "--weights", "decay:0.5", "--epochs", 2)
    options = (*options, "--width", 8)
    result = farstep("fit", path, *options, "--out", tmp_path / "model")
    assert result.code == 0, result.err
    assert "train on 7 episode(s) of" in result.out and "validation 1 episode(s)" in result.out
    assert "cut long ones" not in result.out
    assert "before" not in result.out
    assert f"wrote {tmp_path / 'model' / 'model.safetensors'}" in result.out
    assert (tmp_path / "model" / "training.png").stat().st_size > 5000
    model = load_model(tmp_path / "model")
    assert model.config["weights"] == "decay:0.5"
    assert model.config["activation"] == "tanh"
    train, validation, _ = pendulum(10).split(0)
    assert model.record["train"] == train.fingerprint
    assert model.record["validation"] == validation.fingerprint
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    again = farstep("fit", path, *options, "--out", tmp_path / "model")
    assert again.code == 0 and "with these settings before" in again.out
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before
    other = farstep("fit", path, *options, "--seed", 1, "--out", tmp_path / "model")
    assert other.code == 2
    assert "exists already" in other.err
    wrong = farstep("fit", path, "--weights", "decy", "--out", tmp_path / "other")
    assert wrong.code == 2
    assert "Did you mean 'decay'" in wrong.err
    json.dumps(model.record)
