"""Residual layers, weight decay, averaging, noise on inputs, observers, and the errors' units."""

import ast
import dataclasses
import inspect
import sys
import warnings
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from farstep.agents.config import PRESETS as AGENT_PRESETS
from farstep.cli.presets import AgentPreset, FitPreset, reconciled
from farstep.dynamics.network import NetworkShape, create_network, evaluate
from farstep.dynamics.network import train as train_network
from farstep.dynamics.network_dynamics import NetworkDynamics
from farstep.episodes import Episode, Episodes
from farstep.errors import DataWarning, FarstepError
from farstep.evaluation.evaluate import score
from farstep.fitting import auto
from farstep.fitting import config as config_module
from farstep.fitting.checkpoint import Checkpoint, Checkpoints
from farstep.fitting.config import PAPER, PRESETS, FitConfig, fit_config
from farstep.fitting.fit import FitRun, fit
from farstep.fitting.optimiser import optimiser
from farstep.fitting.settings import fit_settings
from farstep.fitting.training import initial_state, train_epoch
from farstep.weights import profile
from pendulum import TINY, pendulum

KEY = jax.random.key(0)
PLAIN = {**TINY, "normalisation": "none"}
SMALL = {"width": 8, "dropout": 0.0, "normalisation": "none"}


def _epoch(data: Episodes, updates: int = 0, **settings):
    """Return the model before, the state after one epoch from some updates on, and its record."""
    run = FitRun(data, data, fit_config("paper", **{**SMALL, **settings}), profile("uniform"))
    dynamics = NetworkDynamics.create(KEY, run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, run.config.horizon, run.recipe)
    state = state._replace(updates=jnp.array(updates, jnp.int32))
    chosen = jnp.arange(len(run.windows))
    after, record = train_epoch(state, dynamics, run.windows, chosen, KEY, run.recipe)
    return dynamics, after, record


def test_a_residual_layer_is_added_to_the_one_before():
    shape = NetworkShape(4, 3, "tanh", "none", 0.0, residual=True)
    network, statistics = create_network(KEY, 2, 1, shape)
    x = jax.random.normal(KEY, (5, 2))
    hidden = np.asarray(x)
    for number, layer in enumerate(network.layers):
        new = np.tanh(hidden @ np.asarray(layer.weight) + np.asarray(layer.bias))
        hidden = hidden + new if number else new
    expected = hidden @ np.asarray(network.head_weight).T + np.asarray(network.head_bias)
    np.testing.assert_allclose(evaluate(network, statistics, x, shape), expected, atol=1e-5)
    trained, _ = train_network(network, statistics, x, shape, KEY)
    np.testing.assert_allclose(trained, expected, atol=1e-5)


def test_weight_decay_takes_a_share_of_each_weight():
    """Of layers' weights; biases, scales and the weights of horizons stay."""
    weights = {"layer": jnp.array([[1.0, -2.0]]), "logits": jnp.array([3.0])}
    adam = optimiser(0.1, None, 0.5)
    still: Any = jax.tree.map(jnp.zeros_like, weights)
    changes: Any = adam.update(still, adam.init(weights), weights)[0]  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(changes["layer"], -0.1 * 0.5 * weights["layer"], rtol=1e-6)
    np.testing.assert_array_equal(changes["logits"], 0.0)
    _, plain, _ = _epoch(pendulum(2, 40), batch=1000)
    _, decayed, _ = _epoch(pendulum(2, 40), batch=1000, weight_decay=0.5)
    one, other = (jax.tree.leaves(state.trained.network)[0] for state in (plain, decayed))
    assert not np.array_equal(one, other)


def test_the_average_is_of_the_weights_along_the_way():
    """One update an epoch, so that the weights are seen before and after it."""
    data = pendulum(2, 40)
    for updates, kept in ((0, 0.1), (100_000, 0.9)):
        dynamics, after, _ = _epoch(data, updates, batch=1000, average=0.9)
        expected = jax.tree.map(
            lambda old, new, kept=kept: kept * old + (1 - kept) * new,
            dynamics.network,
            after.trained.network,
        )
        pairs = zip(jax.tree.leaves(after.averaged), jax.tree.leaves(expected), strict=True)
        for ours, one in pairs:
            np.testing.assert_allclose(ours, one, rtol=1e-5, atol=1e-7)


def test_the_average_is_what_a_fit_keeps():
    plain, averaged = (
        fit(pendulum(3), pendulum(1), **PLAIN, average=average) for average in (None, 0.9)
    )
    ours, theirs = (model.dynamics.network.head_weight for model in (averaged, plain))  # pyright: ignore[reportAttributeAccessIssue]
    assert not np.array_equal(ours, theirs)
    assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() < 0.1


def test_noise_on_inputs_is_of_the_size_that_is_asked_for():
    """In a world that stands still, a model that predicts no change errs by the noise alone."""
    still = Episodes.from_list([Episode(np.zeros((401, 2), np.float32), np.zeros((400, 1)))])
    settings = {"target": "delta", "depth": 0, "batch": 400, "input_noise": 0.3}
    run = FitRun(still, still, fit_config("paper", **{**SMALL, **settings}), profile("uniform"))
    dynamics = NetworkDynamics.create(KEY, run.scaling, run.form, 1, 0.1)
    unmoved = jax.tree.map(jnp.zeros_like, dynamics.network)
    dynamics = NetworkDynamics(**{**vars(dynamics), "network": unmoved})
    state = initial_state(dynamics, 1, run.recipe)
    _, record = train_epoch(state, dynamics, run.windows, jnp.arange(400), KEY, run.recipe)
    assert float(record.losses[0]) == pytest.approx(0.3**2, rel=0.15)
    # It is on the input alone: a model that knows better than its input does not err.
    certain = dataclasses.replace(dynamics, form=dataclasses.replace(dynamics.form, target="next"))
    _, record = train_epoch(state, certain, run.windows, jnp.arange(400), KEY, run.recipe)
    assert float(record.losses[0]) == 0.0


def _noisy_log(seed: int, noise: float = 0.5) -> Episodes:
    """A scalar system x' = 0.95 x + 0.3 u of unit size, seen through noise half as large."""
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(600, 1))
    states = [np.zeros(1)]
    for action in actions:
        states.append(0.95 * states[-1] + 0.3 * action)
    seen = np.stack(states) + noise * rng.normal(size=(601, 1))
    return Episodes.from_list([Episode(seen.astype(np.float32), actions.astype(np.float32))])


def test_an_observer_keeps_noise_from_flattening_the_model():
    """One step ahead, noise on the input makes least squares shrink the slope.

    Var x = 0.09 / (1 − 0.95²) = 0.92, of noise 0.25: it is 0.95 · 0.92 / (0.92 + 0.25) = 0.75.
    """
    settings = {
        "horizon": 1, "weights": "uniform", "depth": 0, "compositions": 3000, "batch": 128,
        "residual": False, "learning_rate": 1e-2,
    }  # fmt: skip
    data = Episodes.from_list([*_noisy_log(0), *_noisy_log(1), *_noisy_log(2)])
    slopes = {}
    for settle in (0, 30):
        model = fit(data, _noisy_log(3), settle=settle, **settings)
        state = lambda x: jnp.array([x])  # noqa: E731
        found = [model.dynamics.predict(state(x), jnp.zeros(1)).mean[0] for x in (0.0, 1.0)]
        slopes[settle] = float(found[1] - found[0])
    assert slopes[0] == pytest.approx(0.75, abs=0.05)
    assert slopes[30] == pytest.approx(0.95, abs=0.05)


def test_units_of_the_target_scale_the_loss():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(200, 1)), axis=0).astype(np.float32)
    data = Episodes.from_list([Episode(walk, np.zeros((199, 1), np.float32))])
    losses = {
        units: _epoch(data, target="delta", batch=1000, units=units)[2].losses
        for units in ("state", "target")
    }
    ratio = (walk.std() / np.diff(walk, axis=0).std()) ** 2
    np.testing.assert_allclose(losses["target"] / losses["state"], ratio, rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"average": 1.0}, "average must lie between 0 and 1"),
        (
            {"average": 0.9, "normalisation": "batch"},
            "batch normalisation are not of averaged weights",
        ),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"input_noise": -0.1}, "input_noise must be 0 or more"),
        ({"units": "metres"}, "units"),
        ({"settle": -1}, "settle"),
        ({"settle": 2, "stride": 2, "horizon": 1, "weights": "uniform"}, "observer goes by single"),
    ],
)
def test_settings_that_make_no_sense(settings: dict, said: str):
    with pytest.raises(FarstepError, match=said):
        fit(pendulum(2), pendulum(1), **settings)


def test_all_of_them_continue_to_the_same_bits(tmp_path, monkeypatch: pytest.MonkeyPatch):
    settings = {
        **PLAIN, "average": 0.9, "residual": True, "weight_decay": 0.01, "input_noise": 0.01,
        "units": "target", "settle": 3,
    }  # fmt: skip
    whole = fit(pendulum(3), pendulum(1), **settings)
    written = Checkpoints.write

    def killed_after_the_first(self: Checkpoints, member: int, checkpoint: Checkpoint) -> None:
        written(self, member, checkpoint)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Checkpoints, "write", killed_after_the_first)
        fit(pendulum(3), pendulum(1), **settings, out=tmp_path)
    resumed = fit(pendulum(3), pendulum(1), **settings, out=tmp_path)
    pairs = zip(jax.tree.leaves(whole.dynamics), jax.tree.leaves(resumed.dynamics), strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)


def test_presets_are_where_settings_start_from():
    assert fit_config() == FitConfig() == PRESETS["recommended"]
    assert fit_config("ensemble", model="linear").members == 1
    paper = fit_config("paper", horizon=4)
    assert (paper.horizon, paper.width, paper.depth, paper.activation) == (4, 256, 2, "tanh")
    assert (paper.normalisation, paper.dropout, paper.batch) == ("batch", 0.1, 64)


def test_small_data_are_passed_over_until_the_updates_are_made():
    small: dict[str, Any] = {
        "width": 4,
        "depth": 1,
        "horizon": 2,
        "batch": 16,
        "weights": "uniform",
    }
    model = fit(pendulum(2, 41), pendulum(1), compositions=240, **small)
    assert len(model.record["curves"][0]["score"]) == 3  # of 50 updates, ten passes each
    large = fit(pendulum(30, 41), pendulum(1), compositions=240, **small)
    assert len(large.record["curves"][0]["score"]) == 2  # of 75
    tiny = fit(pendulum(1, 6), pendulum(1), compositions=240, **{**small, "batch": 64})
    assert len(tiny.record["curves"][0]["score"]) == 3  # of 50 updates, of 64 windows each


def test_compositions_take_the_place_of_a_presets_epochs():
    assert fit_config("paper", compositions=50).epochs is None
    assert fit_config("paper", compositions=50, epochs=2).epochs == 2
    assert fit_config(FitConfig(width=8), depth=1).width == 8
    asked = dataclasses.replace(PAPER, compositions=50)
    assert reconciled(asked, "paper").epochs is None
    assert reconciled(dataclasses.replace(asked, epochs=2), "paper").epochs == 2
    assert reconciled(PAPER, "paper") == PAPER


@pytest.mark.parametrize(
    ("words", "preset", "expected"),
    [
        (["--compositions", "40000"], "paper", {"epochs": None, "compositions": 40_000}),
        (["--epochs=100", "--compositions", "20000"], "paper", {"epochs": 100}),
        (["--model", "linear"], "ensemble", {"members": 1}),
        (["--model", "linear", "--members", "3"], "ensemble", {"members": 3}),
    ],
)
def test_an_option_counts_though_it_is_as_in_the_preset(words, preset, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["farstep", "fit", "data", *words])
    given = " ".join(words).replace("=", " ").split()
    named = dict(zip(given[::2], given[1::2], strict=True))
    values = {n[2:]: v if n == "--model" else int(v) for n, v in named.items()}
    found = reconciled(dataclasses.replace(PRESETS[preset], **values), preset)
    assert {name: getattr(found, name) for name in expected} == expected


def test_lists_in_a_configuration_are_tuples():
    listed, wrong = FitConfig(), FitConfig()  # the tests' type checker would refuse to make these
    object.__setattr__(listed, "angles", [[0, 1]])
    object.__setattr__(wrong, "width", "wide")
    assert fit_settings(listed, {})[0].angles == ((0, 1),)
    with pytest.raises(FarstepError, match="width must be a whole number, not 'wide'"):
        fit_settings(wrong, {})


def test_a_stride_takes_the_place_of_a_presets_observer():
    assert fit_config("ensemble").settle == 20
    assert fit_config("ensemble", stride=2).settle == 0
    with pytest.raises(FarstepError, match="leave stride or settle alone"):
        fit_config("ensemble", stride=2, settle=3).check()
    assert reconciled(dataclasses.replace(PRESETS["ensemble"], stride=2), "ensemble").settle == 0


@pytest.mark.parametrize("steps", [1, 2, 7, 25, 400])
def test_an_observer_has_at_most_half_of_short_episodes_where_the_horizon_is_chosen(steps: int):
    given = fit_config("ensemble")
    found = auto.within(given, pendulum(2, steps), pendulum(1, steps))
    assert found.settle == min(20, steps // 2)
    assert found.horizon == min(given.horizon, steps - found.settle)


@pytest.mark.parametrize(("steps", "settle"), [(3, 0), (4, 0), (7, 3), (23, 19), (400, 20)])
def test_an_observer_has_what_a_given_horizon_leaves(steps: int, settle: int):
    given = fit_config("ensemble", horizon=4, weights="uniform")
    found = auto.within(given, pendulum(2, steps), pendulum(1, steps))
    assert found == dataclasses.replace(given, settle=settle)


def test_the_papers_settings_do_not_follow_the_defaults():
    """Fits are told by what differs from them."""
    source = ast.parse(inspect.getsource(config_module))
    (call,) = (
        node.value
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAPER"
    )
    assert isinstance(call, ast.Call)
    named = [keyword.arg for keyword in call.keywords]
    assert sorted(map(str, named)) == sorted(f.name for f in dataclasses.fields(FitConfig))


def test_lists_in_lists_are_settings():
    assert fit_config(angles=[[1, 2]]).angles == ((1, 2),)


def test_a_start_must_be_a_model():
    with pytest.raises(FarstepError, match="a str is no model to start from"):
        inspect.unwrap(fit)(pendulum(2), start="model.safetensors", **TINY)


def test_a_linear_model_is_trained_one_step_ahead():
    assert fit(pendulum(2), pendulum(1), model="linear").horizon == 1
    assert fit(pendulum(2), pendulum(1), **TINY, horizon=2).horizon == 2


def test_the_command_line_knows_every_preset():
    assert get_args(FitPreset) == tuple(PRESETS)
    assert get_args(AgentPreset) == tuple(AGENT_PRESETS)


def test_an_observer_goes_by_the_running_statistics():
    """With batch normalisation: those of training so far, not those that it began with."""
    run = FitRun(
        pendulum(2, steps=20),
        pendulum(1, steps=20),
        fit_config("paper", width=8, dropout=0.0, settle=3),
        profile("uniform"),
    )
    dynamics = NetworkDynamics.create(KEY, run.scaling, run.form, 1, 0.1)
    state = initial_state(dynamics, 1, run.recipe)
    other = jax.tree.map(lambda leaf: leaf + 1.0, state.statistics)
    losses = [
        train_epoch(one, dynamics, run.windows, run.chosen, KEY, run.recipe)[1].losses
        for one in (state, state._replace(statistics=other))
    ]
    # Training itself normalises by each batch: only the observer's start can differ.
    assert not np.allclose(losses[0], losses[1])


def test_several_passes_over_small_data_are_over_one_draw(monkeypatch: pytest.MonkeyPatch):
    seen = []

    def watched(self, at, dynamics, chosen, key):
        seen.append(np.asarray(chosen))
        raise KeyboardInterrupt

    monkeypatch.setattr(FitRun, "_advance", watched)
    with pytest.raises(KeyboardInterrupt):
        fit(pendulum(4, steps=30), pendulum(1, steps=30), "ensemble", settle=2, horizon=3,
            weights="uniform")  # fmt: skip
    (chosen,) = seen
    windows = 4 * (30 - 5 + 1)
    assert len(chosen) > 50 * windows
    assert 0.5 < len(np.unique(chosen)) / windows < 0.75  # 63 % of them are drawn at all


def test_changes_that_are_lost_beside_a_large_offset_are_said():
    data = pendulum(2, steps=20)
    offset = np.array([0.0, 5.4e6])
    far = dataclasses.replace(data, states=data.states.astype(np.float64) + offset)
    with pytest.warns(DataWarning, match=r"goes up to 5.4e\+06 .* subtract a constant"):
        fit(far, far, model="linear")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        score([], far, 5)
    assert any("subtract a constant" in str(one.message) for one in said)


def test_float64_is_refused_in_one_line():
    data = pendulum(2, steps=20)
    with jax.enable_x64(True), pytest.raises(FarstepError, match="float64"):
        fit(data, data, model="linear")
