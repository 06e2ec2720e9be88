"""Baselines and the oracle: which are added, and that they predict what they should."""

import dataclasses

import numpy as np
import pytest

import cart
from farstep.data.dataset_files import load_dataset
from farstep.data.episodes import Episode, Episodes
from farstep.data.signals import Signals
from farstep.errors import FarstepError
from farstep.evaluation.references import baselines, oracle
from farstep.evaluation.rollout_errors import r_squared
from farstep.models.contract import Dynamics


@pytest.fixture(scope="module")
def recorded() -> Episodes:
    """Return the first 30 steps of two recorded episodes of cartpole."""
    data = load_dataset("cartpole-swingup/random").take(range(2))
    short = [Episode(one.observations[:31], one.actions[:30]) for one in data]
    return Episodes.from_list(short, data.signals, data.system)


def test_the_linear_baseline_needs_training_data():
    data = cart.data(2, seed=2)
    assert [one.name for one in baselines(data, None)] == ["persistence"]
    with pytest.raises(FarstepError, match="train"):
        baselines(data, data.with_signals(Signals.unnamed(2, 1)))
    persistence, linear = (one.predictors[0] for one in baselines(data, cart.data()))
    assert isinstance(persistence, Dynamics) and isinstance(linear, Dynamics)
    np.testing.assert_allclose(r_squared(linear, data, 5), 1.0, atol=1e-4)
    before, after = data.transitions()
    expected = 1 - np.square(after - before).sum(0) / np.square(after - after.mean(0)).sum(0)
    np.testing.assert_allclose(r_squared(persistence, data, 5)[0], expected, atol=1e-4)


def test_the_oracle_repeats_recorded_episodes(recorded: Episodes):
    found = oracle(recorded)
    assert found is not None and (found.name, found.kind) == ("oracle", "oracle")
    simulate = found.predictors[0]
    assert not isinstance(simulate, Dynamics)
    start, actions = recorded.observations[[0, 31]], recorded.actions.reshape(2, 30, 1)
    predicted = simulate(start, actions)
    expected = recorded.observations.reshape(2, 31, 5)[:, 1:]
    np.testing.assert_allclose(predicted, expected, atol=1e-3)


def test_a_file_cannot_name_an_oracle_that_imports_code(recorded: Episodes):
    data = dataclasses.replace(recorded, system="this_module_is_not_there:system")
    assert oracle(data) is None
    with pytest.raises(FarstepError, match="this_module_is_not_there"):
        oracle(data, system="this_module_is_not_there:system")
    assert oracle(data, system="cartpole-swingup") is not None


def test_an_oracle_of_other_signals_is_left_out_or_refused(recorded: Episodes):
    slow = recorded.with_signals(dataclasses.replace(recorded.signals, interval=0.05))
    named = ("level", *recorded.signals.observation_names[1:])
    other = recorded.with_signals(dataclasses.replace(recorded.signals, observation_names=named))
    for data, message in ((slow, "0.05 s"), (other, "observations or actions")):
        assert oracle(data) is None
        with pytest.raises(FarstepError, match=message):
            oracle(data, "cartpole-swingup")
    units = ("cm", *recorded.signals.observation_units[1:])
    centimetres = dataclasses.replace(recorded.signals, observation_units=units)
    with pytest.raises(FarstepError, match=r"'.*' is in m in .*cm"):
        oracle(recorded.with_signals(centimetres))


def test_a_system_without_an_oracle_is_refused_if_it_is_asked_for():
    assert oracle(cart.data()) is None
    with pytest.raises(FarstepError, match=r"'cart'.*oracle"):
        oracle(cart.data(), cart.CART)
